fn main() {
    let args: Vec<String> = std::env::args().collect();
    let run: drivescope_model::Run =
        serde_json::from_str(&std::fs::read_to_string(&args[1]).unwrap()).unwrap();
    std::fs::write(&args[2], drivescope_report::page::page(&run, |_| String::new())).unwrap();
}

use drivescope_report::chart::{PictureSize, Theme, charts, svg};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let run: drivescope_model::Run =
        serde_json::from_str(&std::fs::read_to_string(&args[1]).unwrap()).unwrap();
    let mut page =
        String::from("<meta charset=utf-8><body style='margin:8px;font-family:sans-serif'>");
    for t in &run.tests {
        for c in charts(t) {
            page += &format!(
                "<h3>{}</h3><p>{}</p>{} {}",
                c.title,
                c.caption,
                svg(&c, PictureSize::WIDE, Theme::Light),
                svg(&c, PictureSize::NARROW, Theme::Dark)
            );
        }
    }
    std::fs::write(&args[2], page).unwrap();
}

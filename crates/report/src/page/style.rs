//! The style sheet of pages: the charts' rules, and a few more.

use crate::chart::page_colours;

const LAYOUT: &str = "\
*{box-sizing:border-box}body{margin:0;font:16px/1.45 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}\
main{max-width:1320px;margin:0 auto;padding:24px 20px 60px}\
h1{font-size:1.8rem;margin:.2em 0}h2{font-size:1.25rem;margin:0 0 .3em}h3{font-size:1rem;margin:.2em 0}\
section{border-top:1px solid var(--grid);padding-top:18px;margin-top:28px}\
p{margin:.3em 0 .6em;max-width:70ch}\
.answer{font-size:1.2rem;max-width:60ch}\
.small,figcaption{font-size:.85rem}.warning{font-weight:600}.badge{border:1px solid;border-radius:3px;padding:0 4px}\
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\
.scroll{overflow-x:auto}\
th,td{padding:5px 12px 5px 0;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}\
td.number,th.number{text-align:right;white-space:nowrap}\
td .small{display:block}.points{letter-spacing:2px;white-space:nowrap}\
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(280px,1fr));gap:8px 28px}\
.overview{display:grid;grid-template-columns:1fr;gap:0 40px}.overview figure{margin:0 0 10px}\
table.rates td{padding-right:16px}.compared th[scope=row],.compared th:first-child{position:sticky;left:0;\
background:var(--ground);max-width:16em}th .small{display:block;font-weight:400}.compared th{overflow-wrap:anywhere}\
.best{white-space:nowrap}\
.tip{position:fixed;z-index:1;padding:2px 8px;border:1px solid;border-radius:3px;font-size:.85rem;\
pointer-events:none}\
.tools{margin:.3em 0;display:flex;flex-wrap:wrap;gap:4px 10px}.tools button{font:inherit;font-size:.8rem;color:inherit;\
background:none;border:1px solid;border-radius:3px;padding:3px 8px;min-height:24px;cursor:pointer}\
.tools button[aria-pressed=false]{text-decoration:line-through}.off{display:none}\
.enlarged{width:96vw;max-width:none;height:94vh;max-height:none;color:inherit;border:1px solid}\
.enlarged svg{width:100%;height:calc(100% - 3em);touch-action:none}\
svg:focus-visible{outline:2px solid currentColor;outline-offset:2px}\
.charts{display:grid;margin-top:16px;grid-template-columns:1fr;gap:20px 28px}\
figure{margin:0}svg{max-width:100%;height:auto;display:block}\
.narrow{display:none}@media(max-width:560px){.wide{display:none}.narrow{display:block}}\
@media(min-width:1140px){.charts,.overview{grid-template-columns:1fr 1fr}}\
details{margin:.6em 0}summary{cursor:pointer;font-weight:600}a{color:inherit}\
@media print{.tools{display:none}details{display:block}section{break-inside:avoid}}";

pub fn page_style() -> String {
    page_colours() + LAYOUT
}

//! The style sheet of pages: the charts' rules, and a few more.

use crate::chart::page_colours;

const LAYOUT: &str = "\
*{box-sizing:border-box}body{margin:0;font:15px/1.45 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}\
main{max-width:1240px;margin:0 auto;padding:20px 20px 60px}\
h1{font-size:1.9rem;line-height:1.15;margin:.15em 0;overflow-wrap:anywhere}\
h2{font-size:1.3rem;line-height:1.25;margin:0 0 .3em}h3{font-size:1rem;margin:.1em 0}\
section{border-top:1px solid var(--grid);padding-top:16px;margin-top:28px}\
p{margin:.3em 0 .6em;max-width:70ch}\
header .small{max-width:none}.answer{font-size:1.25rem;line-height:1.4;max-width:48em}\
.small,figcaption{font-size:.85rem}figcaption{margin-bottom:4px}.warning{font-weight:600}\
.badge{border:1px solid;border-radius:3px;padding:0 4px;white-space:nowrap}\
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\
.scroll{overflow-x:auto}\
th,td{padding:5px 12px 5px 0;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}\
td.number,th.number{text-align:right}td.number{white-space:nowrap}\
td .small{display:block}.points{letter-spacing:2px;white-space:nowrap}\
.first{border:0;padding:0;margin-top:18px}.first h2{font-size:.85rem;border-bottom:1px solid var(--grid);\
padding-bottom:5px;margin:0 0 6px}.first h2 .small{font-weight:400}\
table.verdicts{width:100%}.verdicts th{font-size:1rem}.verdicts .word{font-weight:600;white-space:nowrap}\
.verdicts .why{font-size:.85rem;overflow-wrap:anywhere}.points b{font-weight:400}\
.points i{font-style:normal;color:var(--off)}\
.suited b,.suited .word{color:var(--good)}.limited b,.limited .word{color:var(--limits)}\
.unsuited .word,.grave{color:var(--bad)}.grave{font-size:.8rem;font-weight:600;margin-bottom:0}\
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,280px),1fr));gap:8px 36px}\
article p{margin:.2em 0;overflow-wrap:anywhere}\
.overview{display:grid;grid-template-columns:minmax(0,1fr);gap:0 48px}.overview svg{width:100%}\
dl{margin:.4em 0}dt{font-weight:600}dd{margin:0 0 .4em;max-width:100ch;overflow-wrap:anywhere}\
.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:0 18px;margin:10px 0}\
.facts dd:only-child,.facts dd+dd{grid-column:1/3}\
.rates{min-width:min(100%,940px)}table.rates td{padding-right:16px}.unit{padding-top:12px;font-size:.85rem}\
.compared th[scope=row],.compared th:first-child{position:sticky;left:0;\
background:var(--ground);min-width:6em;max-width:16em}\
th .small{display:block;font-weight:400}.compared th{overflow-wrap:anywhere}.compared thead th{min-width:8.5em}\
.best{white-space:nowrap}\
.compared td .small{white-space:nowrap}\
.tip{position:fixed;z-index:1;padding:2px 8px;border:1px solid;border-radius:3px;font-size:.85rem;\
pointer-events:none}\
.tools{margin:.3em 0;display:flex;flex-wrap:wrap;gap:4px 10px}.tools button{font:inherit;font-size:.8rem;color:inherit;\
background:none;border:1px solid;border-radius:3px;padding:3px 8px;min-height:24px;cursor:pointer}\
.tools button[aria-pressed=false]{text-decoration:line-through}.off{display:none}\
.enlarged{width:96vw;max-width:none;height:94vh;max-height:none;color:inherit;border:1px solid}\
.enlarged svg{width:100%;height:calc(100% - 3em);touch-action:none}\
svg:focus-visible{outline:2px solid currentColor;outline-offset:2px}\
.charts{display:grid;margin-top:16px;grid-template-columns:minmax(0,1fr);gap:20px 40px}\
.tables{display:flex;flex-wrap:wrap;align-items:flex-start;gap:10px 48px;margin-top:14px;min-width:0}\
.tables>*{max-width:100%;min-width:0}.charts>.tables{margin:0;flex-direction:column}\
.small-charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:16px 24px}\
figure{margin:0;min-width:0}svg{max-width:100%;height:auto;display:block}\
details{margin:.6em 0}summary{cursor:pointer;font-weight:600}a{color:inherit}\
.narrow{display:none}@media(max-width:660px){.wide{display:none}.narrow{display:block}}\
@media(max-width:560px),(pointer:coarse){.tools button{min-height:44px;padding:8px 14px}summary{padding:10px 0}}\
@media(max-width:560px){h1{font-size:1.5rem}.answer{font-size:1.1rem}main{padding:14px 12px 40px}\
.verdicts tr{display:grid;grid-template-columns:1fr auto auto;gap:0 10px;border-bottom:1px solid var(--grid);\
padding:6px 0}.verdicts:not(.compared) td,.verdicts:not(.compared) th{border:0;padding:0}\
.verdicts .why{grid-column:1/4}.facts{grid-template-columns:minmax(0,1fr)}.facts dd{grid-column:1}\
.scroll th:first-child{position:sticky;left:0;background:var(--ground);max-width:9em}}\
@media(min-width:561px){.verdicts:not(.compared) th,table.rates th[scope=row]{white-space:nowrap}\
.tables th[scope=row]{min-width:9em}}\
@media(min-width:960px){.overview{grid-template-columns:minmax(0,11fr) minmax(0,13fr)}}\
@media(min-width:1140px){.charts{grid-template-columns:minmax(0,1fr) minmax(0,1fr)}}\
@media print{@page{margin:12mm}.verdicts:not(.compared) tr{display:grid;grid-template-columns:1fr auto auto;\
gap:0 10px;border-bottom:1px solid var(--grid);padding:3px 0}.verdicts:not(.compared) td,\
.verdicts:not(.compared) th{border:0;padding:0;white-space:normal}.verdicts .why{grid-column:1/4}\
body{font-size:9.5pt}main{max-width:none;padding:0}.tools,.screen,.tip{display:none}\
details{display:block}section{margin-top:14px;padding-top:8px}h2,figcaption,summary{break-after:avoid}\
figure,article,tr,.overview,.first{break-inside:avoid}.scroll{overflow:visible}table{font-size:8pt}\
th,td{padding:2px 6px 2px 0}td .small{font-size:7pt}.compared thead th,.compared th:first-child{min-width:0}\
.compared td .small,.verdicts .word,.points{white-space:normal}.wide{display:none}.narrow{display:block}\
.charts>.tables{grid-column:1/-1}.answer{font-size:12pt}\
.charts,.overview{grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:10px 20px}}";

pub fn page_style() -> String {
    page_colours() + LAYOUT
}

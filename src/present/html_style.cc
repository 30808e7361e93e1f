// The style sheet of the pages: tokens and measures are those of the design, light and dark.
#include "present/html_parts.h"

namespace firstwait {

std::string_view html_style() {
  return R"css(
:root{color-scheme:light dark;--page:#F4F5F7;--panel:#FFFFFF;--raised:#ECEEF2;--line:#D8DCE3;--control:#858E9B;
--ink:#12161C;--ink2:#434C59;--ink3:#5E6876;--link:#1B5FC1;--origin:#B3202C;--origin-soft:#FCEBEA;
--suspect:#875A00;--suspect-soft:#FBF1DA;--clear:#0A6E63;--clear-soft:#E2F3F0;
--backward:#174ECE;--forward:#3C7C9D;--optimizer:#6893E4;--h2d:#1F4548;--host:#8A8E95;--input-wait:#DB6A10;
--collective:#6B1B72;--checkpoint:#544E1E;--unexplained:#656A6F;--p2p:#C077D8;--evaluation:#627419;
--compile:#57A17C;--gc:#A82478;--logging:#4B3D2C;
--heat0:#F1F2F5;--heat1:#FDE9D3;--heat2:#F9CFA3;--heat3:#F2AC66;--heat4:#E78A35;--heat5:#CF6A12;--heat6:#8A400A}
@media screen and (prefers-color-scheme:dark){:root{--page:#0D1014;--panel:#151A20;--raised:#1E252D;
--line:#2B343F;--control:#66727F;--ink:#E9EDF2;--ink2:#B7C0CB;--ink3:#909BA8;--link:#82B4FF;--origin:#FF8087;
--origin-soft:#371A1D;--suspect:#E8B84A;--suspect-soft:#302713;--clear:#4FCDB9;--clear-soft:#10302C;
--backward:#81AEEF;--forward:#B8D1E4;--optimizer:#5382E1;--h2d:#2D7169;--host:#A3A7AC;--input-wait:#FF9838;
--collective:#994599;--checkpoint:#7B6D08;--unexplained:#768390;--p2p:#A134B5;--evaluation:#7FB627;
--compile:#297527;--gc:#E47EC4;--logging:#D8CBBE;
--heat0:#1B2129;--heat1:#3A2A1B;--heat2:#613B18;--heat3:#8F5316;--heat4:#C26F20;--heat5:#F0963E;--heat6:#FFD6A6}}
*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);font:14px/20px Inter,system-ui,"Segoe UI",Roboto,
"Helvetica Neue","Noto Sans",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
h1,h2,h3,p,ol,ul,dl,dd,dt{margin:0;padding:0;font-weight:inherit}ol,ul{list-style:none}b,strong{font-weight:600}
a{color:var(--link);text-underline-offset:2px}:focus-visible{outline:2px solid var(--link);outline-offset:2px}
table{border-collapse:collapse}svg{display:block}
.dim{color:var(--ink3)}.mid{color:var(--ink2)}.small{font-size:12px;line-height:16px;color:var(--ink3)}
.code{font:12px/16px ui-monospace,"Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;color:var(--ink3)}
.skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--panel);padding:8px;z-index:1}
.bar{display:flex;align-items:center;gap:8px;height:48px;padding:0 24px;background:var(--panel);
border-bottom:1px solid var(--line);font-size:15px;font-weight:600}
main{max-width:1080px;margin:0 auto;padding:16px 24px 48px}
h1{font-size:20px;line-height:28px;font-weight:600}.meta{font-size:13px;color:var(--ink3);margin-bottom:12px}
.card{background:var(--panel);border:1px solid var(--line);border-radius:8px;margin-top:12px}
.hd{display:flex;flex-wrap:wrap;gap:2px 16px;align-items:baseline;justify-content:space-between;
padding:12px 20px;border-bottom:1px solid var(--line)}.hd h2{font-size:14px;line-height:20px;font-weight:600}
.pad{padding:12px 20px}
.say{padding:16px 24px;border-left:4px solid var(--control);border-radius:8px 0 0 0}
.slow .say{border-left-color:var(--origin)}.well .say{border-left-color:var(--clear)}
.state{display:flex;flex-wrap:wrap;gap:4px 12px;align-items:center;font-size:13px;color:var(--ink3)}
.pill{display:inline-flex;gap:5px;align-items:center;font-size:12px;font-weight:600;border-radius:4px;padding:1px 8px;
background:var(--raised);color:var(--ink2)}.slow .pill{background:var(--origin-soft);color:var(--origin)}
.maybe .pill{background:var(--suspect-soft);color:var(--suspect)}.well .pill{background:var(--clear-soft);color:var(--clear)}
.verdict h2{font-size:25px;line-height:33px;font-weight:600;letter-spacing:-.015em;margin:10px 0 8px;max-width:34em}
.verdict h2 em{font-style:normal;color:var(--origin)}
.sure{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:center;color:var(--ink2)}
.meter{display:inline-flex;gap:2px;margin-right:6px;vertical-align:-1px}.meter i{width:8px;height:12px;border-radius:1px;
background:var(--line)}.meter i.on{background:var(--ink2)}
.path{display:flex;margin-top:16px}.path li{flex:1 1 0;min-width:0;position:relative;padding:18px 14px 0 0;
font-size:12px;line-height:16px;color:var(--ink2)}.path b{display:block;font-size:14px;line-height:20px;color:var(--ink)}
.path li::before,.down li::before{content:"";position:absolute;background:var(--control)}
.path li::before{left:0;right:0;top:5px;height:2px}.path li:last-child::before{display:none}
.dot{position:absolute;left:0;top:1px;width:10px;height:10px;border-radius:50%;border:2px solid var(--control);
background:var(--panel)}.ring .dot{width:18px;height:18px;left:-4px;top:-3px;border:4px solid var(--origin)}
.ring b,.down .ring .val{color:var(--origin)}
.figs{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));border-top:1px solid var(--line)}
.figs>div{padding:14px 16px;border-left:1px solid var(--line)}.figs>div:first-child{border-left:0}
.figs dt,.figs .x{font-size:12px;line-height:16px;color:var(--ink3)}.figs .x{color:var(--ink2)}
.figs .big{font-size:26px;line-height:34px;font-weight:600;letter-spacing:-.02em}.big small{font-size:14px;
font-weight:500;letter-spacing:0;color:var(--ink2)}
.seven{display:grid;grid-template-columns:repeat(7,minmax(0,1fr));overflow:hidden}
.seven li{padding:10px 14px;border-left:1px solid var(--line);font-size:12px;line-height:16px;color:var(--ink2)}
.seven li:first-child{border-left:0}.seven span{display:block;color:var(--ink3)}.seven span::first-letter{text-transform:uppercase}
.aside{display:block;max-width:86px}.figs a{white-space:nowrap}
.st{display:inline-flex;gap:5px;align-items:center;font-size:13px;line-height:20px;font-weight:600;color:var(--ink3)}
.st.suspect{color:var(--suspect)}.st.clear{color:var(--clear)}.st.origin{color:var(--origin)}
.row{display:grid;grid-template-columns:184px minmax(0,1fr) 224px;border-top:1px solid var(--line)}
.hd+.row{border-top:0}.row>.l{padding:8px 8px 6px 16px;font-size:13px;line-height:16px;position:relative}
.row>.l b{display:block}.row>.v{padding:8px 16px 6px 14px;font-size:13px;line-height:18px}
.plot{position:relative;min-width:0}.plot>svg{position:absolute;inset:0;width:100%;height:100%}
.plot>span{position:absolute;font-size:11px;line-height:14px;color:var(--ink3);white-space:nowrap}
.plot>.on{top:0;bottom:0;border-left:2px solid var(--origin)}
.plot>.tag{background:var(--panel);padding:0 3px;border-radius:2px;color:var(--ink2)}
.plot>.mark{width:9px;height:9px;background:var(--ink3);top:12px;margin-left:-4px}
.plot>.mark.checkpoint{background:var(--checkpoint);transform:rotate(45deg)}
.plot>.mark.epoch{width:2px;height:13px;top:10px;margin-left:-1px;background:var(--control)}
.plot>.mark.change{border-radius:2px;background:var(--ink)}
.hosts{position:absolute;right:8px;font-size:11px;line-height:13px;color:var(--ink3);text-align:right}
.hosts.first{font-weight:400}
.no{display:inline-flex;width:16px;height:16px;border-radius:50%;border:1px solid var(--control);font-size:10px;
font-weight:600;align-items:center;justify-content:center;margin-right:5px;color:var(--ink2)}
.led{width:100%;font-size:12px;line-height:17px}.led td,.led th{padding:0;text-align:right;font-weight:400}
.led td:first-child,.led th:first-child{text-align:left}.led .top td{font-weight:600}
.led .sum td{border-top:1px solid var(--control);font-weight:600}
.led th{color:var(--ink3)}.sw{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
.ramp{display:flex;height:10px;margin-top:10px;border:1px solid var(--line)}.ramp i{flex:1}
.ends{display:flex;justify-content:space-between;font-size:11px;line-height:16px;color:var(--ink3)}
.down{padding:10px 20px}.down li{position:relative;display:flex;gap:2px 14px;justify-content:space-between;
align-items:center;padding:6px 0 6px 30px}.down b{display:block}.down .val{font-weight:600;text-align:right}
.down li::before{left:8px;top:0;bottom:0;width:2px}.down li:first-child::before{top:50%}
.down li:last-child::before{bottom:50%}.down .dot{left:4px;top:calc(50% - 5px)}
.down .ring .dot{left:0;top:calc(50% - 9px)}
.scale{position:relative;height:18px;margin:8px 20px 0 46px;font-size:11px;line-height:16px;color:var(--ink3)}
.scale span{position:absolute;white-space:nowrap;transform:translateX(-50%)}
.act{padding:10px 20px;border-top:1px solid var(--line)}.act:first-child{border-top:0}
.act .no{width:18px;height:18px;margin-right:8px;flex:none}.act .t{display:flex}
.act .b{position:relative;height:10px;margin:6px 0 6px 26px;background:linear-gradient(var(--line),var(--line)) 0 50%/100% 1px no-repeat}
.act .b i{position:absolute;top:2px;height:6px;border-radius:2px;min-width:4px;background:var(--backward)}
.act .b i.open{background:repeating-linear-gradient(90deg,var(--backward) 0 4px,transparent 4px 7px)}
.act .g{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:13px;line-height:18px;margin-left:26px}
.act.none .b i{background:var(--control)}
.list{width:100%;font-size:13px;line-height:18px}.list th{font-size:12px;font-weight:500;color:var(--ink3);text-align:left;
padding:6px 10px;border-bottom:1px solid var(--line)}.list td{padding:8px 10px;border-top:1px solid var(--line);
vertical-align:top}.list tr:first-child td{border-top:0}.list td:first-child,.list th:first-child{padding-left:20px}
.list td:last-child,.list th:last-child{padding-right:20px}.list .num{text-align:right;white-space:nowrap}
.rivals .code,.rivals td:last-child{white-space:nowrap}
.for,.against{font-size:12px;font-weight:600;border-radius:4px;padding:1px 6px;background:var(--raised);color:var(--ink2)}
.against{background:var(--suspect-soft);color:var(--suspect)}
.wide{overflow-x:auto}details{padding:8px 20px;border-top:1px solid var(--line);font-size:13px}
summary{cursor:pointer;color:var(--link)}details .list td,details .list th{padding:3px 10px 3px 0}
.foot{display:flex;flex-wrap:wrap;gap:6px 24px;margin-top:16px;font-size:12px;color:var(--ink3)}
.bars{display:grid;gap:2px;height:90px;align-items:end;grid-auto-flow:column;grid-auto-columns:minmax(1px,1fr)}
@media (max-width:900px){.seven{grid-template-columns:repeat(4,minmax(0,1fr))}.seven li{border-top:1px solid var(--line)}
.figs{grid-template-columns:1fr 1fr}.figs>div:nth-child(odd){border-left:0}.figs>div:nth-child(n+3){border-top:1px solid var(--line)}}
@media (max-width:720px){main{padding:12px 12px 40px}.bar{padding:0 12px}.verdict h2{font-size:20px;line-height:27px}
.say{padding:14px}.path{display:block}.path li{padding:0 0 12px 26px}.path li::before{left:4px;top:8px;bottom:-6px;
right:auto;width:2px;height:auto}.path .dot{top:5px}.path .ring .dot{top:1px}.seven{grid-template-columns:1fr}
.seven li{border-left:0}.row{grid-template-columns:1fr}.row>.l{padding:8px 12px 2px}.hosts{display:none}
.row>.v{padding:4px 12px 8px}.down li{display:block}.down .val{text-align:left}
.hd,.pad,.act,.down{padding-left:14px;padding-right:14px}.rivals thead{display:none}
.rivals tr{display:block;padding:8px 14px;border-top:1px solid var(--line)}.rivals tr:first-child{border-top:0}
.rivals td,.rivals td:first-child,.rivals td:last-child{display:block;border:0;padding:0}}
@media (min-width:2400px){body{zoom:1.4}}
@page{size:A4;margin:12mm}
@media print{:root{color-scheme:light}body{background:#fff;-webkit-print-color-adjust:exact;print-color-adjust:exact}
.bar,.skip{display:none}main{max-width:none;padding:0}.card{break-inside:avoid}.long{break-inside:auto}}
@media (forced-colors:active){.plot svg,.ramp i,.sw,.act .b i,.meter i{forced-color-adjust:none}}
)css";
}

}  // namespace firstwait

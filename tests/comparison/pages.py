"""The pages that the corpus renders: small, but made of what real pages are made of."""

SHOP = """
<!doctype html><meta charset="utf-8"><style>
* { box-sizing: border-box; margin: 0 }
body { font: 14px/20px "DejaVu Sans"; color: #222; background: #fff }
header { display: flex; align-items: center; gap: 16px; padding: 12px 20px; border-bottom: 1px solid #d0d7de }
header b { font-size: 17px } header span { color: #57606a; font-size: 12px }
h1 { font-size: 22px; line-height: 30px; padding: 16px 20px 4px }
p { padding: 4px 20px; font-size: 12px; line-height: 18px }
.cards { display: flex; gap: 16px; padding: 12px 20px }
.card { flex: 1; padding: 12px; border: 1px solid #d0d7de; border-radius: 8px; font-size: 12px }
.card svg { display: block; margin-bottom: 8px }
.shadow { border: 0; box-shadow: 0 2px 10px rgba(0, 0, 0, .16) }
.hero { height: 70px; margin: 8px 20px; border-radius: 8px; background: linear-gradient(100deg, #7fb2f0, #f5c9e2 60%, #fbe6b0) }
form { display: flex; gap: 8px; padding: 12px 20px }
.field { width: 200px; height: 32px; border: 1px solid #8c959f; border-radius: 4px; padding: 5px 8px; font-size: 13px }
.caret { display: inline-block; width: 1px; height: 16px; background: #111; vertical-align: -3px; visibility: hidden }
button { height: 32px; border: 0; border-radius: 6px; padding: 0 16px; font: 13px "DejaVu Sans"; color: #fff; background: #1f6feb }
ul { list-style: none; padding: 0 20px } li { padding: 6px 0; border-bottom: 1px solid #eaeef2; font-size: 12px; line-height: 18px }
.new { display: none } .box { width: 120px; height: 40px; border: 1px solid #b0b8c0; margin: 4px 20px }
</style>
<header><b>Lantern</b><span>Shop</span><span>Orders</span><span id="account">Account</span></header>
<div class="new" id="banner" style="padding: 10px 20px; background: #fff8c5; font-size: 12px">Free delivery until Sunday on every order above 40 €.</div>
<h1>Your cart</h1>
<p id="text">Three items, packed by hand and sent on <i id="day">Monday</i>. You can still change the address until the parcel leaves
our house. Total: <span id="price">128.50</span> €</p>
<div class="hero"></div>
<div class="cards">
  <div class="card"><svg id="icon" width="24" height="24" viewBox="0 0 24 24" fill="none" stroke="#57606a" stroke-width="2"><circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 3"/></svg>Arrives in two days</div>
  <div class="card"><svg width="24" height="24" viewBox="0 0 24 24" fill="#2da44e"><path d="M12 2l3 7 7 .6-5.300 4.700 1.600 7.200L12 17.600 5.700 21.500l1.600-7.200L2 9.600 9 9z"/></svg>Rated 4.8 by customers</div>
  <div class="card shadow" id="shadow"><svg width="24" height="24" viewBox="0 0 24 24" fill="#cf222e"><rect x="3" y="6" width="18" height="13" rx="3"/></svg>Returns within 30 days</div>
</div>
<form><div class="field">anna@example.org<i class="caret" id="caret"></i></div><button type="button" id="buy">Place order</button></form>
<ul><li>Oil lamp, brass <span style="float: right">64.00 €</span></li><li class="new" id="row">Gift wrapping <span style="float: right">3.50 €</span></li>
<li>Wick, 5 m <span style="float: right">9.50 €</span></li><li id="last">Glass chimney <span style="float: right">55.00 €</span></li></ul>
<p style="color: #57606a">Prices include taxes. <a id="imprint">Imprint</a> · Terms</p>
"""

SECTIONS = [
    ("Basics", "A lamp needs fuel, a wick and air. Fill it to three quarters, then wait ten minutes."),
    ("Trimming", "Cut the wick straight across. A ragged edge smokes and blackens the glass."),
    ("Cleaning", "Wash the chimney with warm water and a little vinegar. Let it dry before use."),
    ("Storage", "Empty the tank in spring. Keep the burner in a dry place, wrapped in paper."),
    ("Spare parts", "Burners, wicks and chimneys fit all lamps that we have sold since 1998."),
    ("Safety", "Never leave a burning lamp alone. Keep it away from curtains and children."),
]


def manual(sections: list[tuple[str, str]], *, banner: bool = False) -> str:
    """Return a long page of sections."""
    notice = '<div class="banner">The shop is closed on Friday.</div>' if banner else ""
    body = "".join(
        f'<section><h2><i style="background: hsl({40 * len(title)} 60% 55%)"></i>{title}</h2><p>{text}</p></section>'
        for title, text in sections
    )
    return f"""<!doctype html><meta charset="utf-8"><style>
* {{ box-sizing: border-box; margin: 0 }}
body {{ font: 13px/20px "DejaVu Sans"; color: #24292f; background: #fff }}
h1 {{ padding: 16px 24px; font-size: 22px }} section {{ padding: 12px 24px; border-top: 1px solid #d8dee4 }}
h2 {{ font-size: 15px }} h2 i {{ display: inline-block; width: 10px; height: 10px; margin-right: 8px; border-radius: 5px }}
p {{ padding: 6px 0 10px }} .banner {{ padding: 14px 24px; background: #ddf4ff; color: #0a3069 }}
</style><h1>Lamp manual</h1>{notice}{body}"""


COLUMNS = """
<!doctype html><meta charset="utf-8"><style>
* { box-sizing: border-box; margin: 0 } body { display: flex; font: 13px/20px "DejaVu Sans"; background: #fff }
nav { width: 150px; padding: 16px; background: #f6f8fa } main { flex: 1; padding: 16px } div { padding: 4px 0 } .new { display: none }
</style><nav><div>Overview</div><div>Orders</div><div>Customers</div><div>Reports</div><div>Settings</div></nav>
<main><div>First entry</div><div class="new" id="row">An entry between</div><div>Second entry</div><div>Third entry</div></main>
"""

BADGE = """
<!doctype html><meta charset="utf-8"><style>* { margin: 0 } body { background: transparent; padding: 20px; font: 16px "DejaVu Sans" }
.badge { display: inline-block; padding: 10px 18px; border-radius: 20px; background: rgba(31, 111, 235, .85); color: #fff }
.ring { width: 60px; height: 60px; margin-top: 12px; border-radius: 30px; border: 6px solid rgba(207, 34, 46, .6) }
.cover { width: 120px; height: 24px; margin-top: 10px; background: transparent }
</style><div class="badge">Verified shop</div><div class="ring"></div><div class="cover" id="cover"></div>
"""

PHOTO = """
<!doctype html><meta charset="utf-8"><style>* { margin: 0 }</style><canvas id="photo" width="320" height="240"></canvas><script>
let seed = 7; const chance = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
const paint = photo.getContext("2d"), sky = paint.createLinearGradient(0, 0, 0, 240);
sky.addColorStop(0, "#3b6ea5"); sky.addColorStop(.6, "#f2c9a1"); sky.addColorStop(1, "#2e3a24");
paint.fillStyle = sky; paint.fillRect(0, 0, 320, 240);
for (let i = 0; i < 900; i++) {
  paint.fillStyle = `hsla(${60 + 60 * chance()}, 45%, ${15 + 35 * chance()}%, .7)`;
  paint.beginPath(); paint.ellipse(320 * chance(), 150 + 90 * chance(), 2 + 9 * chance(), 1 + 4 * chance(), 3 * chance(), 0, 7); paint.fill();
}
paint.filter = "blur(3px)"; paint.fillStyle = "#fff3"; paint.fillRect(40, 30, 120, 20);
</script>
"""

WIDGETS = """
<!doctype html><meta charset="utf-8"><style>
* { box-sizing: border-box; margin: 0 } body { font: 13px/20px "DejaVu Sans"; color: #24292f; background: #fff; padding: 12px }
section { display: flex; align-items: center; gap: 12px; height: 32px } i { display: block } .line { width: 1px; height: 16px; background: #8c959f }
.track { width: 120px; height: 12px; background: #d8dee4 } .track i { width: 70px; height: 12px; background: #1f6feb }
.chart { display: flex; align-items: end; gap: 3px; height: 28px } .chart i { width: 6px; background: #2da44e }
.tag { padding: 0 8px; width: 90px; background: #ddf4ff; border: 1px solid #54aeff } .row { position: relative; width: 280px; border-bottom: 1px solid #d8dee4 }
.row i { position: absolute; left: 40px; top: 8px; width: 120px; height: 16px; background: #8250df }
table { border-spacing: 0 } td { padding: 3px 6px; border: 1px solid #d8dee4; width: 60px } .dot { width: 24px; height: 24px; border-radius: 50%; background: #cf222e }
.card { width: 150px; height: 40px; padding: 9px; border: 1px solid #e2e8f0; border-radius: 4px }
</style><section><button id="word" style="font: inherit; width: 90px">Cance</button><span id="level">Level</span></section>
<section><div class="track"><i id="bar"></i></div><div class="chart"><i style="height: 14px"></i><i id="column" style="height: 24px"></i><i style="height: 18px"></i></div><div class="tag" id="tag">Draft</div></section>
<section class="row"><i id="task"></i></section><section><span>Orders</span><i class="line" id="line"></i><span>Customers</span><i class="line"></i><span>Reports</span></section>
<table><tr><td>Oil</td><td id="cell">Wick</td><td>Glass</td></tr></table><section style="height: 48px"><i class="dot" id="dot"></i><div class="card" id="card">Pale card</div></section>
"""


def field(style: str, *, size: int = 14) -> str:
    """Return a page with a text field that has the focus. Its cursor is in the middle of a word."""
    return f"""<!doctype html><meta charset="utf-8"><style>* {{ margin: 0 }} body {{ padding: 10px }}
input {{ width: 200px; padding: 5px 8px; font: {size}px "DejaVu Sans"; border: 1px solid #8c959f; outline: 0; caret-color: transparent; {style} }}
</style><input value="Order delivery" autofocus>"""


def table(*, inserted: bool) -> str:
    """Return a striped table."""
    rows = [
        ("Oil lamp", "64.00"),
        ("Wick", "9.50"),
        ("Gift box", "3.50"),
        ("Chimney", "55.00"),
        ("Burner", "21.00"),
        ("Funnel", "7.20"),
    ]
    body = "".join(f"<tr><td>{name}<td>{price}" for name, price in rows if inserted or name != "Gift box")
    return f"""<!doctype html><meta charset="utf-8"><style>* {{ margin: 0 }} body {{ font: 13px/20px "DejaVu Sans"; color: #24292f }}
table {{ width: 100%; border-spacing: 0; table-layout: fixed }} td {{ padding: 5px 12px }} tr:nth-child(even) {{ background: #f6f8fa }}
</style><table>{body}</table><p style="padding: 12px">Prices include taxes.</p>"""


CARDS = """
<!doctype html><meta charset="utf-8"><style>* { box-sizing: border-box; margin: 0 } body { display: flex; min-height: 100vh; font: 13px/20px "DejaVu Sans"; color: #24292f; background: #fff }
nav { width: 110px; padding: 16px; background: #f6f8fa; line-height: 27px } nav:empty { display: none } main { flex: 1; padding: 16px }
div { height: 52px; padding: 4px 12px 26px; margin-bottom: 10px; border: 1px solid #d0d7de; border-radius: 6px } .new { display: none } #error { background: #ffebe9; padding: 15px }
</style><nav id="left"></nav><main><div class="new" id="error">Payment failed. Try another card.</div><div>First order</div><div class="new" id="card">Another order</div><div>Second order</div><p>All orders of this year</p></main><nav id="right"></nav>
"""

ORDERS = """
<!doctype html><meta charset="utf-8"><style>* { box-sizing: border-box; margin: 0 } body { font: 15px/1.45 "DejaVu Sans"; color: #1d2733; background: #fbfaf8; padding: 12px 16px }
h3 { margin: -14px 0 12px } div { padding: 10px 14px; margin-bottom: 10px; border: 1px solid #e4e0d8; border-radius: 10px; background: #fff } .new { display: none } b { float: right; font-weight: normal }
</style><h3>Orders</h3><div>No. 1041 <b>3 pieces</b></div><div>No. 1039 <b>9 pieces</b></div><div>No. 1038 <b>12 pieces</b></div><div class="new" id="order">No. 1035 <b>Cancelled</b></div>
<div id="next">No. 1029 <b>1 piece</b></div><div>No. 1027 <b>2 pieces</b></div><p>All orders of this year</p>
"""

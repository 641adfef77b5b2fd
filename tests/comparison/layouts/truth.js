// Numbers the elements of a page and reads where they stand. Nodes keep their number through an edit.
(() => {
  const numbers = new Map();
  const numberOf = (node) => {
    if (!numbers.has(node)) numbers.set(node, numbers.size + 1);
    return numbers.get(node);
  };
  const LEAVES = ".btn, .badge, .avatar, .input";
  const SIDES = ["Top", "Right", "Bottom", "Left"];

  const alphaOf = (color) => {
    const parts = color.match(/[\d.]+/g) || [];
    return parts.length === 4 ? Number(parts[3]) : Number(!color.includes("transparent"));
  };
  const overlap = (a, b) => {
    const x = Math.max(a.left, b.left), y = Math.max(a.top, b.top);
    const right = Math.min(a.right, b.right), bottom = Math.min(a.bottom, b.bottom);
    return { left: x, top: y, right, bottom, width: Math.max(0, right - x), height: Math.max(0, bottom - y) };
  };

  // Nothing outside of a scrolling pane or of the window is visible.
  function clip(element, box) {
    let visible = overlap(box, { left: 0, top: 0, right: innerWidth, bottom: innerHeight });
    for (let above = element; above && above !== document.body; above = above.parentElement) {
      const style = getComputedStyle(above);
      if (style.overflowX !== "visible") visible = overlap(visible, above.getBoundingClientRect());
      if (style.position === "fixed") break;
    }
    return visible;
  }

  // A pane that ends above the end of the window: content can come into view there.
  function isInPane(element) {
    const pane = element.closest(".pane");
    return Boolean(pane) && pane.getBoundingClientRect().bottom < innerHeight - 2;
  }

  // Something opaque on top hides an element, something translucent does not.
  function isCovered(element, box) {
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    for (const top of document.elementsFromPoint(x, y)) {
      if (top === element || element.contains(top) || top.contains(element)) return false;
      if (alphaOf(getComputedStyle(top).backgroundColor) > 0.6) return true;
    }
    return false;
  }

  const asList = (box) => [box.left, box.top, box.width, box.height].map((side) => side * devicePixelRatio);

  function describe(kind, id, element, box, more) {
    const visible = clip(element, box);
    const share = (visible.width * visible.height) / (box.width * box.height);
    const isHidden = !(share > 0.3) || visible.width < 1 || visible.height < 1 || (element !== document.body && isCovered(element, visible));
    return { kind, id, box: asList(box), visible: isHidden ? null : asList(visible), inPane: isInPane(element), ...more };
  }

  function describeText(node) {
    const element = node.parentElement, style = getComputedStyle(element), found = [];
    const look = [style.fontFamily, style.fontSize, style.fontWeight, style.fontStyle, style.letterSpacing, style.textDecorationLine];
    const color = element.closest("svg") ? style.fill : style.color;
    for (const match of node.data.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const boxes = [...range.getClientRects()];
      if (!boxes.length) continue;
      found.push(describe("text", numberOf(node), element, boxes[0], { content: match[0], look: look.join(), color }));
    }
    return found;
  }

  function describeDrawing(element) {
    const parts = [element, ...element.querySelectorAll("*")];
    const color = parts.map((part) => {
      const style = getComputedStyle(part);
      return [style.fill, style.stroke, style.stopColor].join();
    }).join();
    const content = element.outerHTML.replace(/ (fill|stroke|stop-color|class|x|y)="[^"]*"/g, "");
    const box = element.getBoundingClientRect();
    const look = `${Math.round(box.width)}x${Math.round(box.height)}`;
    return [describe("image", numberOf(element), element, box, { content, look, color })];
  }

  function describeBox(element) {
    const style = getComputedStyle(element);
    const wide = SIDES.filter((side) => parseFloat(style[`border${side}Width`]) > 0);
    const lines = wide.map((side) => style[`border${side}Color`]);
    const isFramed = alphaOf(style.backgroundColor) > 0 || style.backgroundImage !== "none" || lines.some(alphaOf) || style.boxShadow !== "none";
    const isPlain = element.style.cssText.replace(/background:[^;]*;?/, "");
    const look = [style.paddingTop, style.paddingRight, style.borderRadius, SIDES.map((side) => style[`border${side}Width`]), style.boxShadow.replace(/\(.*?\)/g, ""), isPlain];
    const color = [style.backgroundColor, style.backgroundImage, style.opacity, ...lines].join();
    return [describe("box", numberOf(element), element, element.getBoundingClientRect(), {
      content: "", look: look.join(), color: isFramed ? color : "", isFramed, isLeaf: element.matches(LEAVES), parent: numberOf(element.parentElement),
    })];
  }

  function collect(node = document.body) {
    if (node.nodeType === Node.TEXT_NODE) return node.data.trim() ? describeText(node) : [];
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches("style, script, defs")) return [];
    if (node.ownerSVGElement && node.tagName !== "text") return describeDrawing(node);
    if (node.matches("svg") && !node.matches(".chart")) return describeDrawing(node);
    if (!node.getClientRects().length && !node.matches("body")) return [];
    const self = node.ownerSVGElement || node.matches("svg") ? [] : describeBox(node);
    return [...self, ...[...node.childNodes].flatMap(collect)];
  }

  // For edits: the elements that a reader sees whole, by selector.
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((element) => {
    const box = element.getBoundingClientRect(), visible = clip(element, box);
    return box.width > 0 && visible.width >= box.width - 1 && visible.height >= box.height - 1 && !isCovered(element, visible);
  });
  const textsOf = (element) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) if (walker.currentNode.data.trim() && !walker.currentNode.parentElement.matches("style")) found.push(walker.currentNode);
    return found;
  };
  // Replaces the first text, and keeps its node, so that it counts as changed.
  const say = (element, text) => { textsOf(element)[0].data = text; };
  const style = (css) => { document.head.append(Object.assign(document.createElement("style"), { textContent: css })); };
  const make = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content.firstElementChild;
  };
  // A copy of an item with texts from its neighbors, so that it has no twin.
  const another = (item, index = 0) => {
    const copy = item.cloneNode(true);
    const words = ["Zara Quist", "Fresh start", "Morning briefing", "Velvet curtain", "Kayak tour"];
    const texts = textsOf(copy).filter((node) => /[a-z]{3}/.test(node.data) && !node.parentElement.closest(".badge, .avatar, p"));
    texts.forEach((node, place) => { node.data = words[(index + place) % words.length]; });
    textsOf(copy).filter((node) => /\d/.test(node.data)).forEach((node) => { node.data = node.data.replace(/\d/g, (digit) => (Number(digit) * 3 + 7 + index) % 10); });
    copy.querySelectorAll("p").forEach((node) => { node.textContent = "An entry that came in with this change, and that nobody has read before."; });
    return copy;
  };
  window.page = { collect, seen, textsOf, say, style, make, another };
})();

// Whether a forge on the internet can show images from an address.
import assert from "node:assert/strict";
import { unreachableImages } from "../dist/post_comment.js";
import { testCases } from "./support/vectors.js";

testCases("image_addresses", "images", ({ images, forge_api, warns }) => {
  const url = `${images}/i/00.png?exp=1&token=k1.5e`;
  for (const image of [
    `![Home](${url})`,
    `| [![Home](${url})](${url}) |`,
    `<td><a href="${url}"><img width="300" alt="Home" src="${url}"></a></td>`,
  ]) {
    const text = `### 1 screenshot\n\n\`](http://10.0.0.1)\`\\\n${image}\n`;
    const warning = unreachableImages(text, forge_api, "GitHub");
    assert.equal(warning !== "", warns);
    if (warns) assert.ok(warning.includes(images) && warning.includes("set PRSHOTS_IMG_URL on the service"));
  }
});

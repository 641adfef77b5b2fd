// A forge in memory, as a vector of sticky_comment.json describes it.
import { ForgeRefusedError, NotFoundError } from "../../dist/errors.js";

const BOT = "bot";

export class MemoryForge {
  label = "A forge";
  maxCommentBytes = 65_536;
  writes = [];
  askedWhoWeAre = 0;
  #made = 0;

  constructor(comments, behavior = {}) {
    this.behavior = { me: BOT, authors_known: true, lost_replies: 0, ...behavior };
    this.markerStyle = behavior.marker ?? "html";
    this.onlyAuthorsChange = this.behavior.me === null;
    this.left = comments.map(({ author, body, by_stranger: byStranger = false }) => ({
      ...this.#comment(author, body),
      byStranger,
    }));
  }

  async me() {
    this.askedWhoWeAre += 1;
    return this.behavior.me ?? undefined;
  }

  async comments() {
    const { hidden = [], ghost } = this.behavior;
    if (ghost) return [this.#comment(BOT, ghost)];
    return this.left.filter(({ id }) => !hidden.includes(id)).map((comment) => ({ ...comment }));
  }

  async create(_prNumber, body) {
    for (let sent = 0; sent <= this.behavior.lost_replies; sent++) {
      const made = this.#comment(BOT, this.#stored(body));
      this.#write("create", made.id);
      this.left.push(made);
    }
    const made = this.left.at(-1);
    return { ...made, author: this.behavior.authors_known ? made.author : "" };
  }

  async update(_prNumber, id, body) {
    const { deleted_before_update: deleted = [], missing = [] } = this.behavior;
    this.#write("update", id);
    this.left = this.left.filter((comment) => !deleted.includes(comment.id));
    const found = this.left.find((comment) => comment.id === id);
    const isOurs = !this.onlyAuthorsChange || found?.author === BOT;
    if (!found || missing.includes(id) || !isOurs) throw new NotFoundError("not there, or not ours");
    found.body = this.#stored(body);
    this.behavior.me ??= BOT;
  }

  async delete(_prNumber, id) {
    this.#write("delete", id);
    this.left = this.left.filter((comment) => comment.id !== id);
  }

  #comment(author, body) {
    this.#made += 1;
    return { id: String(this.#made), author, body, url: `https://forge.example/7#${this.#made}` };
  }

  #write(what, id) {
    this.writes.push(`${what} ${id}`);
    if (this.behavior.refuses?.includes(what)) throw new ForgeRefusedError("the token may not do that");
  }

  #stored(body) {
    let stored = body;
    for (const [from, to] of Object.entries(this.behavior.replaces ?? {}))
      stored = stored.replaceAll(from, to);
    const { line_ends: ends } = this.behavior;
    return ends ? stored.trim().replaceAll("\n", ends) : stored;
  }
}

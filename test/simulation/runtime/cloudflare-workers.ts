/** The module `cloudflare:workers`. */

export class DurableObject {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(context: unknown, env: unknown) {
    this.ctx = context;
    this.env = env;
  }
}

/** What is left, and behind it the secret: keys of the service, and what stands where one is passed, or before the host of an address. */
const SECRET_SHAPES = [
  /()\ber[aehjlu]?_[0-9a-f]{16,}/g,
  /(\bBearer\s+)[^$\s"'][^\s"']*/gi,
  /([?&]api_key=)[^\s&"']+/g,
  /(\/artifacts\/uploads\/)[^\s/"'?]+/g,
];
/** A login in front of a host; `git` alone is none, and `$NAME` stands for one. */
const LOGIN = /:\/\/([^$\s/"'<>][^\s/"'<>]*)@/g;
const SECRET_VARIABLES = /(KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS?)$/;
/** A shorter value would blot out ordinary words. */
const SHORTEST_SECRET = 8;
const REPLACEMENT = "[secret]";

/** Takes secrets out of text: all that look like one, and the values of the environment whose names say so. */
export class Secrets {
  readonly #values = new Set<string>();

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    for (const [name, value] of Object.entries(environment)) {
      if (SECRET_VARIABLES.test(name)) this.add(value);
    }
  }

  add(value: string | undefined): void {
    if (value !== undefined && value.length >= SHORTEST_SECRET) this.#values.add(value);
  }

  redact(text: string): string {
    const redacted = [...this.#values].reduce((left, value) => left.replaceAll(value, REPLACEMENT), text);
    const withoutLogins = redacted.replace(LOGIN, (match, login: string) =>
      `${login}@`.startsWith("git@") ? match : `://${REPLACEMENT}@`,
    );
    return SECRET_SHAPES.reduce((left, shape) => left.replace(shape, `$1${REPLACEMENT}`), withoutLogins);
  }
}

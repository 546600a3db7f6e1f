/** Patterns of secrets; the first group is what stays. They are keys of the service, and values where a key is passed. */
const SECRET_SHAPES = [
  /()\ber[aehjlu]?_[0-9a-f]{16,}/g,
  /(\bBearer\s+)[^$\s"'][^\s"']*/gi,
  /([?&]api_key=)[^\s&"']+/g,
  /(\/artifacts\/uploads\/)[^\s/"'?]+/g,
];
/** A login in front of a host; `git@` is not a secret, and `$NAME` only refers to one. */
const LOGIN = /:\/\/([^$\s/"'<>][^\s/"'<>]*)@/g;
const SECRET_VARIABLES = /(KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS?)$/;
/** Shorter values would redact ordinary words. */
const SHORTEST_SECRET = 8;
const REPLACEMENT = "[secret]";

/** Redacts secrets: strings that look like one, and values of variables whose names say so. */
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

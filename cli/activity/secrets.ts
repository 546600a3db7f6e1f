/** Keys of the service, and what stands where one is passed, or before the host of an address. */
const SECRET_SHAPES = [
  /\ber[aehjlu]?_[0-9a-f]{16,}/g,
  /(?<=\bBearer\s+)(?!\$)[^\s"']+/gi,
  /(?<=[?&]api_key=)[^\s&"']+/g,
  /(?<=:\/\/)(?!git@|\$)[^\s/"'<>]+(?=@)/g,
  /(?<=\/artifacts\/uploads\/)[^\s/"'?]+/g,
];
const SECRET_VARIABLES = /(KEY|TOKEN|SECRET|PASSWORD|PASSPHRASE|CREDENTIALS?)$/;
/** A shorter value would blot out ordinary words. */
const SHORTEST_SECRET = 8;
const BLOT = "[secret]";

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
    const known = [...this.#values].reduce((left, value) => left.replaceAll(value, BLOT), text);
    return SECRET_SHAPES.reduce((left, shape) => left.replace(shape, BLOT), known);
  }
}

/** Which files of a project are left out of its artifact. */
import ignore, { type Ignore } from "ignore";

/** Never shipped, whatever a .gitignore contains. Files that begin with .env hold keys. */
const NEVER_SHIPPED = [
  ".flash/",
  ".git/",
  ".gitignore",
  "__pycache__/",
  "*.pyc",
  "*.pyo",
  "*.pyd",
  "*.egg-info/",
  "*.tar.gz",
  ".venv/",
  "venv/",
  "node_modules/",
  ".vscode/",
  ".idea/",
  ".env*",
  "test_*.py",
  "*_test.py",
  "*.md",
  "!README.md",
];

/** Directories that usually hold by-products, but may be packages of the app. */
const BY_PRODUCT_NAMES = new Set(["env", "build", "dist", "docs", "tests"]);

// Windows and macOS open `.ENV` as `.env`.
const neverShipped = ignore({ ignorecase: true }).add(NEVER_SHIPPED);

/** Whether a path is left out of every artifact; paths of directories end with a slash. */
export function isNeverShipped(path: string): boolean {
  return neverShipped.ignores(path);
}

/** The outermost first: those of a/docs/build/x.py are a/docs and a/docs/build. */
export function byProductDirectories(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.flatMap((name, at) => (BY_PRODUCT_NAMES.has(name) ? [names.slice(0, at + 1).join("/")] : []));
}

type Scope = { readonly directory: string; readonly rules: Ignore };

/** The .gitignore files from a project's root down to one of its directories. */
export class IgnoreRules {
  /** The innermost first, since it takes precedence. */
  readonly #scopes: readonly Scope[];

  constructor(scopes: readonly Scope[] = []) {
    this.#scopes = scopes;
  }

  /** Adds the .gitignore of a directory inside; "" is the root. */
  with(directory: string, gitignore: string): IgnoreRules {
    const rules = ignore({ ignorecase: false }).add(gitignore);
    return new IgnoreRules([{ directory, rules }, ...this.#scopes]);
  }

  /** The path of a directory ends with a slash. */
  ignores(path: string): boolean {
    for (const { directory, rules } of this.#scopes) {
      const verdict = rules.test(directory === "" ? path : path.slice(directory.length + 1));
      if (verdict.ignored || verdict.unignored) return verdict.ignored;
    }
    return false;
  }
}

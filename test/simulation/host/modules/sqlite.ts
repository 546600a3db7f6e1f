/** `node:sqlite` of a simulated host: files by their path, which outlive the programs that have them open. */
import { DatabaseSync as RealDatabase } from "real:sqlite";

const files = new Map<string, RealDatabase>();

/** No file exists any more: a new world begins. */
export function removeAllDatabases(): void {
  for (const file of files.values()) file.close();
  files.clear();
}

export class DatabaseSync {
  constructor(path: string) {
    const known = files.get(path);
    const file = known ?? new RealDatabase(":memory:");
    files.set(path, file);
    if (file.isTransaction) file.exec("ROLLBACK"); // of a program that has died
    return new Proxy(file, {
      get(_, property) {
        if (property === "close") return () => {};
        const value: unknown = Reflect.get(file, property, file);
        return typeof value === "function" ? value.bind(file) : value;
      },
    }) as unknown as DatabaseSync;
  }
}

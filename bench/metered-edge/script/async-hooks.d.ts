/** What the meter needs of Node's module, whose own types do not go together with those of the Workers runtime. */
declare module "node:async_hooks" {
  export class AsyncLocalStorage<Store> {
    getStore(): Store | undefined;
    run<Result>(store: Store, work: () => Result): Result;
  }
}

/** What opens an image registry. */
export type RegistryLogin = { readonly username: string; readonly password: string };

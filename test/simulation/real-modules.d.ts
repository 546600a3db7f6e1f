/** Modules of Node under the names by which those that stand in for them import them. */
declare module "real:crypto" {
  export * from "node:crypto";
}
declare module "real:http" {
  export * from "node:http";
}
declare module "real:os" {
  export * from "node:os";
}
declare module "real:sqlite" {
  export * from "node:sqlite";
}
declare module "real:zlib" {
  export * from "node:zlib";
}

/** What Docker 20.10 said while it pulled an image of five layers, one message per line; for tests. */
export const RECORDED_PULL = `
{"status":"Pulling from team/model","id":"1"}
{"status":"Pulling fs layer","progressDetail":{},"id":"4a9ffe4ac33e"}
{"status":"Pulling fs layer","progressDetail":{},"id":"68bcd28d97d5"}
{"status":"Pulling fs layer","progressDetail":{},"id":"a5309e3b6d65"}
{"status":"Pulling fs layer","progressDetail":{},"id":"6c77b4ce74fc"}
{"status":"Pulling fs layer","progressDetail":{},"id":"a2e3f9148055"}
{"status":"Waiting","progressDetail":{},"id":"6c77b4ce74fc"}
{"status":"Waiting","progressDetail":{},"id":"a2e3f9148055"}
{"status":"Downloading","progressDetail":{"current":323347,"total":30009343},"id":"4a9ffe4ac33e"}
{"status":"Downloading","progressDetail":{"current":69396,"total":4001401},"id":"68bcd28d97d5"}
{"status":"Downloading","progressDetail":{"current":2799380,"total":4001401},"id":"68bcd28d97d5"}
{"status":"Downloading","progressDetail":{"current":3814163,"total":30009343},"id":"4a9ffe4ac33e"}
{"status":"Downloading","progressDetail":{"current":134931,"total":12003835},"id":"a5309e3b6d65"}
{"status":"Download complete","progressDetail":{},"id":"68bcd28d97d5"}
{"status":"Downloading","progressDetail":{"current":36628,"total":1000478},"id":"6c77b4ce74fc"}
{"status":"Downloading","progressDetail":{"current":1000478,"total":1000478},"id":"6c77b4ce74fc"}
{"status":"Verifying Checksum","progressDetail":{},"id":"6c77b4ce74fc"}
{"status":"Download complete","progressDetail":{},"id":"6c77b4ce74fc"}
{"status":"Downloading","progressDetail":{"current":69396,"total":6002007},"id":"a2e3f9148055"}
{"status":"Downloading","progressDetail":{"current":6660777,"total":30009343},"id":"4a9ffe4ac33e"}
{"status":"Downloading","progressDetail":{"current":3052307,"total":12003835},"id":"a5309e3b6d65"}
{"status":"Verifying Checksum","progressDetail":{},"id":"a2e3f9148055"}
{"status":"Download complete","progressDetail":{},"id":"a2e3f9148055"}
{"status":"Verifying Checksum","progressDetail":{},"id":"a5309e3b6d65"}
{"status":"Download complete","progressDetail":{},"id":"a5309e3b6d65"}
{"status":"Downloading","progressDetail":{"current":23587737,"total":30009343},"id":"4a9ffe4ac33e"}
{"status":"Verifying Checksum","progressDetail":{},"id":"4a9ffe4ac33e"}
{"status":"Download complete","progressDetail":{},"id":"4a9ffe4ac33e"}
{"status":"Extracting","progressDetail":{"current":327680,"total":30009343},"id":"4a9ffe4ac33e"}
{"status":"Extracting","progressDetail":{"current":20971520,"total":30009343},"id":"4a9ffe4ac33e"}
{"status":"Extracting","progressDetail":{"current":30009343,"total":30009343},"id":"4a9ffe4ac33e"}
{"status":"Pull complete","progressDetail":{},"id":"4a9ffe4ac33e"}
{"status":"Extracting","progressDetail":{"current":65536,"total":4001401},"id":"68bcd28d97d5"}
{"status":"Extracting","progressDetail":{"current":4001401,"total":4001401},"id":"68bcd28d97d5"}
{"status":"Pull complete","progressDetail":{},"id":"68bcd28d97d5"}
{"status":"Pull complete","progressDetail":{},"id":"a5309e3b6d65"}
{"status":"Pull complete","progressDetail":{},"id":"6c77b4ce74fc"}
{"status":"Pull complete","progressDetail":{},"id":"a2e3f9148055"}
{"status":"Digest: sha256:bffa12d5651e32ec2275a6587d0680401645a4908a723c14db0d7ee76634fb78"}
{"status":"Status: Downloaded newer image for registry.example/team/model:1"}
`;

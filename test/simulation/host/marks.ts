/** What a request to a server in a container is known by; its answer has it too. */
export const MARK_HEADER = "x-mark";

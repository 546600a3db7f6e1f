/** Shows a pending login, and sends the user's decision to the edge. */

/** Without apiKey: to ask for that would use the key up. */
const LOOK =
  "query ($id: String) { flashAuthRequestStatus(flashAuthRequestId: $id) { id status expiresAt client } }";
const DECIDE = `mutation ($id: String, $isApproved: Boolean) {
  approveFlashAuthRequest(input: { flashAuthRequestId: $id, isApproved: $isApproved }) { status }
}`;

const ENDED = {
  APPROVED: "This login is approved. You can close this page.",
  CONSUMED: "This login is approved, and the command line has its key. You can close this page.",
  DENIED: "This login was denied. Nobody got a key.",
  EXPIRED: "This login has expired. Run flash login again.",
};

const id = new URLSearchParams(location.search).get("request") ?? "";
const part = (name) => document.getElementById(name);

/**
 * Who is signed in to the console decides without a key. The cookie is invisible here; the console leaves a mark, and
 * where it is wrong, the key is asked for.
 */
const isSignedIn =
  localStorage.getItem("edgerun-signed-in") !== null &&
  (await ask("{ myself { id } }", {}).then(
    () => true,
    () => false,
  ));
if (isSignedIn) {
  part("key").required = false;
  part("by-key").hidden = true;
  part("by-sign-in").hidden = false;
}

await showRequest();

part("decide").addEventListener("submit", (event) => {
  event.preventDefault();
  void decide(event.submitter?.value !== "deny");
});

async function decide(isApproved) {
  setBusy(true);
  try {
    const { approveFlashAuthRequest } = await ask(DECIDE, { id, isApproved }, part("key").value.trim());
    end(approveFlashAuthRequest.status);
  } catch (error) {
    say(error.message, "fault");
  } finally {
    setBusy(false);
  }
}

async function showRequest() {
  if (id === "") return say("This address names no login. Open the one that flash login prints.", "fault");
  try {
    const { flashAuthRequestStatus: request } = await ask(LOOK, { id });
    if (request.status !== "PENDING") return end(request.status);
    describe(request);
  } catch (error) {
    say(error.message, "fault");
  }
}

function describe(request) {
  part("code").textContent = codeOf(request.id);
  part("client").textContent = request.client || "a client that does not say what it is";
  const expiresAt = new Date(request.expiresAt);
  part("expires").dateTime = request.expiresAt;
  part("expires").textContent = expiresAt.toLocaleTimeString();
  part("request").hidden = false;
  say("A client asks for a key to your account.");
  part("decide")
    .querySelector(isSignedIn ? "button" : "input")
    .focus();
  setTimeout(() => part("request").hidden || end("EXPIRED"), expiresAt.getTime() - Date.now());
}

/** The first characters of the id, as flash login prints them. */
function codeOf(requestId) {
  return `${requestId.slice(0, 4)}-${requestId.slice(4, 8)}`;
}

function end(status) {
  part("request").hidden = true;
  part("key").value = "";
  say(
    ENDED[status] ?? "This login has ended.",
    status === "APPROVED" || status === "CONSUMED" ? "done" : "fault",
  );
}

function say(text, kind = "") {
  part("message").textContent = text;
  part("message").dataset.kind = kind;
}

function setBusy(isBusy) {
  for (const button of part("decide").querySelectorAll("button")) button.disabled = isBusy;
}

async function ask(query, variables, key) {
  const response = await fetch("/graphql", {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-Edgerun-Console": "1",
      ...(key && { Authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ query, variables }),
  }).catch(() => {
    throw new Error("The edge cannot be reached. Try again.");
  });
  const { data, errors } = await response.json();
  if (errors?.length) throw new Error(errors[0].message);
  return data;
}

/** Shows an output: JSON as text, and images, sounds and films that it holds as data URLs. */
const MEDIA = /^data:(image|audio|video)\/[\w.+-]+;base64,[A-Za-z0-9+/=\s]+$/;
const MEDIA_MAX = 12;
const TEXT_MAX = 200_000;

export function ValueView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return (
    <div className="space-y-3">
      {mediaIn(value).map((url, index) => (
        <Media key={index} url={url} />
      ))}
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="max-h-96 overflow-auto rounded-md border border-line bg-raised p-3 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {text.length > TEXT_MAX
          ? `${text.slice(0, TEXT_MAX)}\n… ${text.length - TEXT_MAX} more characters`
          : text}
      </pre>
    </div>
  );
}

function Media({ url }: { readonly url: string }) {
  // As an image, a document of SVG runs no script.
  if (url.startsWith("data:image/"))
    return <img src={url} alt="Output of the job" className="max-h-96 max-w-full rounded-md" />;
  if (url.startsWith("data:audio/")) return <audio controls src={url} className="w-full" />;
  return <video controls src={url} className="max-h-96 max-w-full rounded-md" />;
}

/** Data URLs anywhere in a value, few enough to show. */
function mediaIn(value: unknown): readonly string[] {
  const found: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0 && found.length < MEDIA_MAX) {
    const one = open.shift();
    if (typeof one === "string") {
      if (one.startsWith("data:") && MEDIA.test(one)) found.push(one);
    } else if (typeof one === "object" && one !== null) open.push(...Object.values(one));
  }
  return found;
}

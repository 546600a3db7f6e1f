/** Does the work for each of the items, for so many of them at the same time. Rejects as soon as one of these does. */
export async function fewAtOnce<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < items.length; from += atOnce)
    await Promise.all(items.slice(from, from + atOnce).map(work));
}

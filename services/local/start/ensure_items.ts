import type { ControlClient } from '#services/control_api/client.ts';

/** Makes each item of a collection of the control API that is not there yet; what is there stays as it is. */
export async function ensureItems(
  client: ControlClient,
  collection: string,
  items: readonly { id: string }[],
): Promise<void> {
  for (const item of items) {
    if ((await client.find(`${collection}/${item.id}`)) === undefined)
      await client.send('POST', collection, null, item);
  }
}

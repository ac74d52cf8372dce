import { refusal, type StubApi } from './stub_api.ts';

interface Item {
  version: string;
  changed_at: number;
  changed_by: string;
}

/** Something that several people change by If-Match, with what was sent to change it. */
export interface SharedItem {
  sent: { method: string; body: object | null }[];
  now(): Item & Record<string, unknown>;
  /** Somebody else changes it. */
  ben(changes: object): void;
}

/**
 * Serves an item at a path, as the service does: whoever changes it must have seen it as it is.
 *
 * @param lists Paths of lists that have it as their only item.
 */
export function shareItem(api: StubApi, path: string, item: object, lists: readonly string[] = []): SharedItem {
  const meta = { version: 'v1', changed_at: 0, changed_by: 'user:ana' };
  let held: Item & Record<string, unknown> = { ...item, ...meta };
  let changes = 1;
  const sent: SharedItem['sent'] = [];
  const change = (fields: object, changed_by: string): void => {
    changes += 1;
    held = { ...held, ...fields, version: `v${changes}`, changed_at: changes * 60_000, changed_by };
  };
  const changing = (method: string) => (body: object | null, _url: URL, ifMatch: string | null) => {
    if (ifMatch !== `"${held.version}"`) return refusal(412, 'version_conflict', 'It was changed since it was read.');
    sent.push({ method, body });
    change(body ?? {}, 'user:ana');
    return held;
  };
  api.on('GET', path, () => held);
  for (const list of lists) api.on('GET', list, () => ({ items: [held], next: null }));
  for (const method of ['PATCH', 'PUT', 'DELETE']) api.on(method, path, changing(method));
  return { sent, now: () => held, ben: (fields) => change(fields, 'user:ben') };
}

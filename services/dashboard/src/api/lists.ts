import type { Answer } from './api_answer.ts';
import { type Parameters, request } from './request.ts';

/** One page of a list. */
interface Page<Item> {
  items: Item[];
  next: string | null;
}

const PAGE_ITEMS = 1000;

/** Every item of a list, page by page, up to a number; `more` says whether there are others. */
export async function listAll<Item>(
  path: string,
  query: Parameters = {},
  max = 10_000,
  signal?: AbortSignal,
): Promise<Answer<{ items: Item[]; more: boolean }>> {
  const items: Item[] = [];
  let after: string | undefined;
  do {
    const options = { query: { ...query, limit: PAGE_ITEMS, after }, ...(signal === undefined ? {} : { signal }) };
    const answer = await request<Page<Item>>('GET', path, options);
    if (!answer.ok) return answer;
    items.push(...answer.value.items);
    after = answer.value.next ?? undefined;
  } while (after !== undefined && items.length < max);
  return { ok: true, value: { items, more: after !== undefined }, version: null };
}

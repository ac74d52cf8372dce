import { expect, test } from 'vitest';
import { createEventSearches, SearchBusyError } from '#infra/redelivery/dead_letter_store.ts';

/** Searches that end when they are told to, and what was searched. */
function heldUp() {
  const searched: string[] = [];
  const ends: (() => void)[] = [];
  const search = createEventSearches(async (siteId, eventId) => {
    searched.push(`${siteId} ${eventId}`);
    await new Promise<void>((resolve) => ends.push(resolve));
    if (eventId === 'fails') throw new Error('unlucky');
    return `${eventId} found`;
  });
  const endNext = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { searched, search, endNext };
}

test('who asks for the same event of a site shares its search', async () => {
  const { searched, search, endNext } = heldUp();
  const found = [search('shop', 'a'), search('other', 'a'), search('shop', 'a'), search('other', 'a')];
  for (let times = 0; times < 2; times++) await endNext();
  expect(await Promise.all(found)).toEqual(Array.from({ length: 4 }, () => 'a found'));
  expect(searched).toEqual(['shop a', 'other a']);
});

test('a search that failed or ended is made anew when it is asked for again', async () => {
  const { searched, search, endNext } = heldUp();
  const failed = expect(search('shop', 'fails')).rejects.toThrow('unlucky');
  await endNext();
  await failed;
  const again = expect(search('shop', 'fails')).rejects.toThrow('unlucky');
  await endNext();
  await again;
  expect(searched).toHaveLength(2);
});

test('beside the one that runs eight wait, the next is refused, and there is room again when one has ended', async () => {
  const { search, endNext } = heldUp();
  const found = Array.from({ length: 9 }, (_, number) => search('shop', String(number)));
  await expect(search('shop', 'more')).rejects.toThrow(SearchBusyError);
  await endNext();
  found.push(search('shop', 'more'));
  for (let times = 0; times < 9; times++) await endNext();
  expect(await Promise.all(found)).toHaveLength(10);
});

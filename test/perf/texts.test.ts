import { expect, test } from 'vitest';
import { statementOf } from '#infra/clickhouse/queries/sql_query.ts';
import { isSelector } from '#pipelines/engage/definition_problems.ts';
import { linksIn } from '#pipelines/engage/spam.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { HIT_CHARACTERS_MAX, readHits } from '#pipelines/intake/ga4/hits.ts';
import { redactCards } from '#pipelines/privacy/redact_secrets.ts';
import { covered, masked } from '#services/tag/src/redact.ts';
import { SECRET } from '#test/unit/intake/context.ts';
import { cpuMsOf, expectLinear } from './linear.ts';

const LINKS = ['a.com', 'a.', '.com@', 'a.com.@ ', '//', '[.]', ' . ', 'www.', '[ . ', 'a:', 'ab-', '%2f', '&#46;'];

test.each(LINKS)('links are looked for in a time linear in %j', (repeated) =>
  expectLinear(linksIn, ['', repeated, '@']),
);

const CARDS = '1 |4 |+1 |12 |1-|4539 |4539, |45 |4\n|0|4|4<br>|4\\n4 |4é|4<a '.split('|');

test.each(CARDS)('cards are looked for in a time linear in %j', (repeated) =>
  expectLinear(redactCards, ['', repeated, '']),
);

test.each(['a', '\\a', '-', '[a=', ':not(', 'a ', '"'])('a selector is read in a time linear in %j', (repeated) =>
  expectLinear(isSelector, ['', repeated, '']),
);

test.each(['a', '1a', 'aBcD3fGh1jK'])('the tag covers persons in a time linear in %j', (repeated) => {
  expectLinear(masked, ['', repeated, '']);
  expectLinear(covered, ['', repeated, '']);
});

test.each([' ', ';'])('the end of a statement is found in a time linear in %j', (repeated) =>
  expectLinear(statementOf, ['a', repeated, 'b']),
);

test.each([
  ['tildes', '~'],
  ['names of own parameters', '~k0'],
  ['escapes', '%7E%7E'],
  ['levels of a category', '/'],
])('the largest hits of %s are read in a time that does not grow with their square', (_, piece) => {
  const hit = (size: number): string =>
    `en=purchase&pr1=k0category~v0${piece.repeat((HIT_CHARACTERS_MAX / size - 50) / piece.length)}`;
  const read = (count: number, size: number) => (): void => {
    for (let at = 0; at < count; at += 1) {
      const hits = readHits('tid=G-1&_p=1', hit(size));
      if (!hits.ok) expect.fail(hits.problem);
      expect(eventsOfHits(hits.hits, { caller: 'browser', secret: SECRET })).toHaveLength(1);
    }
  };
  read(8, 8)();
  const [inParts, atOnce] = [read(32, 8), read(4, 1)].map(cpuMsOf) as [number, number];
  expect(atOnce).toBeLessThanOrEqual(3 * Math.max(inParts, 16));
});

import { expect, test } from 'vitest';
import type { OutRecord } from '#infra/kafka/record.ts';
import { createDeadLetters } from '#services/warehouse/dead_letters.ts';

const AT = { topic: 'events.identified', partition: 3, offset: 7, index: -1 };

function deadLetters(failures = 0) {
  const sent: OutRecord[] = [];
  let left = failures;
  const counted = { in: 0, dead: 0 };
  const written = createDeadLetters(
    {
      async send(records) {
        if (left-- > 0) throw new Error('no leader');
        sent.push(...records);
      },
    },
    { encode: () => Buffer.from('letter') },
    {
      in(count) {
        counted.in += count;
      },
      dead(_reason, count) {
        counted.dead += count;
      },
    },
    2,
  );
  return { sent, counted, written };
}

test('a record that is read again before its offset is committed has one letter', async () => {
  const { sent, counted, written } = deadLetters();
  for (let reading = 0; reading < 3; reading++) await written.write(AT, 'wire_null', '', null);
  expect(sent).toHaveLength(1);
  expect(counted).toEqual({ in: 1, dead: 1 });
});

test('rows of one block that are refused each have theirs', async () => {
  const { sent, written } = deadLetters();
  for (const row of ['one', 'two', 'one']) await written.write(AT, 'warehouse_refused', '', Buffer.from(row));
  expect(sent).toHaveLength(2);
});

test('a letter that could not be written is written the next time', async () => {
  const { sent, written } = deadLetters(1);
  await expect(written.write(AT, 'wire_null', '', null)).rejects.toThrow('no leader');
  await written.write(AT, 'wire_null', '', null);
  expect(sent).toHaveLength(1);
});

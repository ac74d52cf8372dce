import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Entry, entryOf } from '#clients/node/src/event.ts';
import { createQueue } from '#clients/node/src/sender.ts';

type Step = { add: number } | { remove: number } | { head: [number, number] };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ add: fc.nat(40) }),
  fc.record({ remove: fc.nat(1_500) }),
  fc.record({ head: fc.tuple(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 200 })) }),
);

test('the queue is a list that is read and cut at its beginning', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = createQueue(3_000, 60_000);
      let model: Entry[] = [];
      let made = 0;
      const bytesOf = (entries: readonly Entry[]): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);
      for (const one of steps) {
        if ('add' in one) {
          // Many at a time, so that what was consumed is cut off as well.
          for (let more = 0; more < one.add * 10; more += 1) {
            made += 1;
            const entry = entryOf(`u${made}`, 'x'.repeat(one.add));
            const hasRoom = model.length < 3_000 && bytesOf(model) + entry.bytes <= 60_000;
            if (more === 0) expect(queue.hasRoom(entry.bytes)).toBe(hasRoom);
            queue.add(entry);
            model.push(entry);
          }
        } else if ('remove' in one) {
          queue.remove(one.remove);
          model = model.slice(one.remove);
        } else {
          const [events, bytes] = one.head;
          const head = queue.head(events, bytes);
          expect(head).toEqual(model.slice(0, head.length));
          expect(head.length).toBeLessThanOrEqual(events);
          if (head.length > 1) expect(bytesOf(head) + head.length).toBeLessThanOrEqual(bytes);
          const next = model[head.length];
          const isFull =
            head.length === events || next === undefined || bytesOf(head) + head.length + next.bytes + 1 > bytes;
          expect(isFull && (head.length > 0 || model.length === 0)).toBe(true);
        }
        expect([queue.length, queue.bytes]).toEqual([model.length, bytesOf(model)]);
      }
    }),
  );
});

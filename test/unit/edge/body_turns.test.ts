import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BodyTurn, createBodyTurns } from '#services/edge/body.ts';

test('turns are taken in order, up to so many bytes at once, and one that is larger alone', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 30 }),
      fc.infiniteStream(fc.nat()),
      async (sizes, choices) => {
        const turns = createBodyTurns(10);
        const open: { at: number; turn: BodyTurn }[] = [];
        const begun: number[] = [];
        const taking = sizes.map(async (bytes, at) => {
          const turn = await turns.take(bytes);
          begun.push(at);
          open.push({ at, turn });
        });
        for (let ended = 0; ended < sizes.length; ended++) {
          await new Promise(setImmediate);
          const all = open.reduce((sum, { at }) => sum + (sizes[at] ?? 0), 0);
          expect(all <= 10 || open.length === 1).toBe(true);
          const [{ value }] = [choices.next()];
          const [over] = open.splice((value ?? 0) % open.length, 1);
          over?.turn.end();
          over?.turn.end();
        }
        await Promise.all(taking);
        expect(begun).toEqual(sizes.map((_, at) => at));
      },
    ),
  );
});

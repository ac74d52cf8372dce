import { expect, test } from 'vitest';
import { createTransfer } from '#services/local/parts/java.ts';

test('nothing is said before anything came', () => {
  expect(createTransfer().summary()).toBeUndefined();
});

test('finished files and the one under way are added up', () => {
  const transfer = createTransfer();
  transfer.read('Downloaded from central: https://host/a.jar (2.0 MB at 5 MB/s)\n');
  transfer.read('Downloaded from central: https://host/b.jar (3.0 MB at 5 MB/s)\n');
  transfer.read('Progress (2): 1.5/4.0 MB | 500/900 kB\r');
  expect(transfer.summary()).toBe('2 jars, 7 MB');
});

test('a line that comes in pieces is read once', () => {
  const transfer = createTransfer();
  transfer.read('Progress (1): 12/1');
  transfer.read('59 MB\rProgress (1): 40/159 MB\r');
  expect(transfer.summary()).toBe('40 MB');
});

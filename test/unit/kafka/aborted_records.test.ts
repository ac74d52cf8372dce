import { expect, test } from 'vitest';
import { hideAborted } from '#infra/kafka/kafkajs_patches/client_patches.ts';

const ABORT = Buffer.from([0, 0, 0, 0]);
const COMMIT = Buffer.from([0, 0, 0, 1]);

/** A record in the words `offset:producer`, with `!` for its abort marker, `.` for its commit marker, `-` outside any transaction. */
function record(words: string) {
  const [, offset = '', producerId = '', marker = ''] = /^(\d+):(\d+)([!.-]?)$/.exec(words) ?? [];
  const isMarker = marker === '!' || marker === '.';
  return {
    offset,
    key: isMarker ? (marker === '!' ? ABORT : COMMIT) : null,
    isControlRecord: isMarker,
    batchContext: { producerId, inTransaction: marker !== '-' },
  };
}

const CASES: [what: string, aborted: [producer: string, first: string][], log: string[], read: string[]][] = [
  ['nothing aborted', [], ['0:1', '1:1.'], ['0']],
  ['one aborted', [['1', '0']], ['0:1', '1:1!', '2:1', '3:1.'], ['2']],
  [
    'overlapping, ended in the opposite order',
    [
      ['2', '1'],
      ['1', '0'],
    ],
    ['0:1', '1:2', '2:3', '3:2!', '4:1!'],
    ['2'],
  ],
  [
    'a fetch from the middle of two',
    [
      ['1', '3'],
      ['2', '5'],
    ],
    ['5:2', '6:1', '7:1!', '8:2!', '9:2'],
    ['9'],
  ],
  [
    'one producer aborted twice',
    [
      ['1', '0'],
      ['1', '3'],
    ],
    ['0:1', '1:1!', '2:2', '3:1', '4:1!', '5:1'],
    ['2', '5'],
  ],
  [
    'numbers of unequal length',
    [
      ['1', '9'],
      ['2', '10'],
    ],
    ['9:1', '10:2', '11:3', '12:1!', '13:2!'],
    ['11'],
  ],
  ['outside any transaction', [['1', '0']], ['0:1', '1:1-', '2:1!'], ['1']],
];

test.for(CASES)('%s', ([, aborted, log, read]) => {
  const messages = log.map(record);
  const partition = {
    abortedTransactions: aborted.map(([producerId, firstOffset]) => ({ producerId, firstOffset })),
    messages,
  };
  hideAborted(partition);
  expect(messages.filter(({ isControlRecord }) => !isControlRecord).map(({ offset }) => offset)).toEqual(read);
  expect(messages).toHaveLength(log.length);
});

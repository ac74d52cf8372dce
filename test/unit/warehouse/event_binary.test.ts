import { expect, test } from 'vitest';
import { eventBinary } from '#infra/clickhouse/event_binary.ts';
import { type EntryView, encodeEvent, noPerson } from '#schemas/event_batch.ts';
import { MalformedError } from '#schemas/varint.ts';
import { sampleEvent } from '../schemas/sample_event.ts';

const eventBytes = encodeEvent(sampleEvent({ value: 12.5 }));

function view(changes: Partial<EntryView>): EntryView {
  const head = { siteId: 'shop', eventId: 'e', distinctId: 'd', receivedAtMs: 1 };
  return { coordinate: null, personBytes: noPerson(), eventBytes, ...head, ...changes };
}

test('bytes that are cut anywhere, or longer, are refused', () => {
  for (let length = 0; length < eventBytes.length; length++) {
    expect(() => eventBinary(view({ eventBytes: eventBytes.subarray(0, length) })), `${length}`).toThrow(
      MalformedError,
    );
  }
  expect(() => eventBinary(view({ eventBytes: Buffer.concat([eventBytes, Buffer.from([0])]) }))).toThrow(
    MalformedError,
  );
});

test('an event that is refused harms no row before or behind it', () => {
  const alone = Buffer.from(eventBinary(view({})).bytes);
  const before = eventBinary(view({}));
  expect(() => eventBinary(view({ eventBytes: eventBytes.subarray(0, -1) }))).toThrow(MalformedError);
  const behind = eventBinary(view({}));
  expect(before.bytes).toEqual(alone);
  expect(behind.bytes).toEqual(alone);
});

test('a flipped byte is refused or makes a row, and nothing else', () => {
  for (let at = 0; at < eventBytes.length; at++) {
    for (const bit of [0x01, 0x40, 0x80, 0xff]) {
      const flipped = Buffer.from(eventBytes);
      flipped[at] = (flipped[at] ?? 0) ^ bit;
      try {
        expect(eventBinary(view({ eventBytes: flipped })).bytes.length).toBeLessThan(eventBytes.length + 256);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedError);
      }
    }
  }
});

test('of a number that is none nothing is kept', () => {
  const none = eventBinary(view({ eventBytes: encodeEvent(sampleEvent({ value: Number.NaN })) }));
  const nothing = eventBinary(view({ eventBytes: encodeEvent(sampleEvent({ value: null })) }));
  expect(none.bytes).toEqual(nothing.bytes);
});

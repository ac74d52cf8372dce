import { describe, expect, it } from 'vitest';
import type { WorldEvent } from '#services/local/demo/world/demo_event.ts';
import { resolvePeople } from '#services/local/demo/world/demo_world.ts';

function told(visitor: string, ...stitches: string[]): WorldEvent {
  return {
    siteSlot: 'shop',
    eventId: visitor,
    name: 'login',
    at: 0,
    actionSource: 'website',
    visitor,
    stitches,
    wire: { event: 'login', uuid: visitor, properties: {} },
  };
}

const CASES: { title: string; events: WorldEvent[]; people: number }[] = [
  { title: 'visitors who tell nothing stay apart', events: [told('a'), told('b')], people: 2 },
  { title: 'one e-mail on two devices joins them', events: [told('a', 'email:1'), told('b', 'email:1')], people: 1 },
  { title: 'different e-mails do not', events: [told('a', 'email:1'), told('b', 'email:2')], people: 2 },
  {
    title: 'a chain joins its ends, whatever the order',
    events: [told('a', 'email:1'), told('c', 'phone:1'), told('b', 'phone:1', 'email:1')],
    people: 1,
  },
  {
    title: 'a visitor named like an identity is not that identity',
    events: [told('email:1'), told('b', 'email:1')],
    people: 2,
  },
];

describe('resolvePeople', () => {
  it.each(CASES)('$title', ({ events, people }) => {
    const personOf = resolvePeople(events);
    expect(new Set(events.map((event) => personOf(event.visitor))).size).toBe(people);
  });
});

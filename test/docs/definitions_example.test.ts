import { expect, test } from 'vitest';
import { readEventDefinition } from '#pipelines/settings/event_definitions.ts';
import { section } from './page.ts';

test('the event definitions that docs/tag.md shows are definitions', () => {
  const [, json = ''] = /```json\n([\s\S]*?)```/.exec(section('tag.md', 'Event definitions')) ?? [];
  const definitions = JSON.parse(json) as unknown[];
  expect(definitions.map((one) => readEventDefinition(one).ok)).toEqual([true, true]);
});

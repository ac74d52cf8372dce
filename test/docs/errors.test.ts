import { expect, test } from 'vitest';
import { CALL_PROBLEMS } from '#pipelines/intake/compat/mapped_call.ts';
import { REJECTIONS } from '#pipelines/intake/field_rules.ts';
import { readEnvelope } from '#pipelines/intake/take_event.ts';
import { CONTROL_ERRORS } from '#services/control/errors.ts';
import { EDGE_ERRORS } from '#services/edge/errors.ts';
import { EVENTS_MAX } from '#services/edge/ingest_service.ts';
import { section, tableRows } from './page.ts';

/** Bodies that are refused as a whole. */
const REFUSED_BODIES: unknown[] = [[], {}, { events: 1 }, { events: [] }, { events: Array(EVENTS_MAX + 1).fill({}) }];

const rejections = REFUSED_BODIES.map((body) => {
  const read = readEnvelope(body, EVENTS_MAX);
  if (read.ok) throw new Error('the body was not refused');
  return read;
});

test('the page has every code of a request, with its status and message, and no other', () => {
  const known = new Set<string>();
  for (const [code, { status, message }] of Object.entries(EDGE_ERRORS))
    known.add(`${status} \`${code}\` | ${message}`);
  for (const { code, status, message } of rejections) known.add(`${status} \`${code}\` | ${message}`);
  expect(tableRows(section('errors.md', 'Codes of a request')).sort()).toEqual([...known].sort());
});

test('the page has every code of a single event, with its message, and no other', () => {
  const ofBodies = new Set<string>(rejections.map(({ code }) => code));
  const ofEvents = Object.entries(REJECTIONS).filter(([code]) => !ofBodies.has(code));
  const expected = ofEvents.map(([code, message]) => `\`${code}\` | ${message}`);
  expect(tableRows(section('errors.md', 'Codes of single events')).sort()).toEqual(expected.sort());
});

test("the page has every code of a single call of Segment's and PostHog's routes, and no other", () => {
  const expected = Object.entries(CALL_PROBLEMS).map(([code, message]) => `\`${code}\` | ${message}`);
  expect(tableRows(section('errors.md', "Segment's and PostHog's routes")).sort()).toEqual(expected.sort());
});

/** 404 of what is not there, 409 of what is there already, 503 of what does not respond: names that say it all are listed. */
const isListed = (code: string, status: number): boolean =>
  (status === 404 && code.endsWith('_unknown')) || (status === 409 && code.endsWith('_exists')) || status === 503;

test('the page has every code of the control service, with its status and message, and no other', () => {
  const text = section('errors.md', 'Codes of the control service');
  const [listed, rows] = [true, false].map((wanted) =>
    Object.entries(CONTROL_ERRORS).filter(([code, { status }]) => isListed(code, status) === wanted),
  );
  const expected = (rows ?? []).map(([code, { status, message }]) => `${status} \`${code}\` | ${message}`);
  expect(tableRows(text).sort()).toEqual(expected.sort());
  const named = [404, 409, 503].flatMap((status) => {
    const [, list = ''] = new RegExp(`^- \\*\\*${status}\\*\\*([^]*?)\\n(?:-|\\n)`, 'm').exec(text) ?? [];
    return [...list.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`);
  });
  expect(named.sort()).toEqual((listed ?? []).map(([code, { status }]) => `${status} ${code}`).sort());
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { Caller, Identifiers } from '#schemas/event.ts';

const FOLDER = join(import.meta.dirname, 'cases');

/** A request to /g/collect and the events that are made of it; the uuid `digest` stands for any that is a digest. */
export interface CollectCase {
  name: string;
  caller: Caller;
  query: string;
  body: string;
  events: JsonObject[];
  /** What the first event is known by once it is taken. */
  identifiers?: Partial<Identifiers>;
}

/** A body of the Measurement Protocol, its events or why it has none, and the codes of what Google would object to. */
export interface MeasurementCase {
  name: string;
  body: unknown;
  events?: unknown[];
  problem?: string;
  codes: string[];
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));

export const MEASUREMENT_CASES = read('measurement_protocol.json') as MeasurementCase[];

export const COLLECT_CASES: CollectCase[] = readdirSync(FOLDER)
  .filter((name) => name !== 'measurement_protocol.json')
  .sort()
  .flatMap((name) => read(name) as CollectCase[]);

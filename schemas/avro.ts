import { readFileSync } from 'node:fs';
import avsc from 'avsc';

/** Names of the schema files beside this module, without their ending. */
export type SchemaName =
  | 'event_batch'
  | 'setting'
  | 'identity_link'
  | 'quota_usage'
  | 'quota_counts'
  | 'delivery'
  | 'delivery_job'
  | 'dead_letter'
  | 'dead_resolution'
  | 'replay_progress'
  | 'inventory'
  | 'duplicates'
  | 'data_read';

/** The schema's text as registered: what the file holds. */
export function schemaText(name: SchemaName): string {
  return readFileSync(new URL(`./${name}.avsc`, import.meta.url), 'utf8');
}

/** A compiled type of ours. Unions of null and one type are plain nullable values. */
export function schemaType(name: SchemaName): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(schemaText(name)));
}

/** Compiles a writer's schema read from the registry. */
export function foreignType(text: string): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(text));
}

export type AvroType = avsc.Type;

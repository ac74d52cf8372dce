import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { readDefinition } from '#pipelines/engage/site_engage.ts';
import type { EngageItem } from '#schemas/setting.ts';

/** A definition as site.config holds it. Throws where it may not be written. */
export function engageItem(kind: EngageKind, input: object, version = 1): EngageItem {
  const read = readDefinition(kind, input);
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return { site_id: 'shop', kind, id: read.definition.id, version, definition: JSON.stringify(read.definition) };
}

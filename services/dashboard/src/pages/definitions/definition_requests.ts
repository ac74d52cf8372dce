import type { EventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { Meta } from '#services/control_api/fields.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import type { Answer } from '../../api/api_answer.ts';
import { request } from '../../api/request.ts';
import { type DefinitionDraft, definitionBody, draftProblems, isSelector, notSent } from './definition_form.ts';

/** A definition with what is said of the site that it is part of: its version, and who last changed it. Null: a new one. */
export type VersionedDefinition = Meta & { definition: EventDefinition | null };

const sitePath = (siteId: string): string => `/v1/admin/sites/${encodeURIComponent(siteId)}`;
const pathOf = (siteId: string, id = ''): string =>
  `${sitePath(siteId)}/event-definitions${id === '' ? '' : `/${encodeURIComponent(id)}`}`;

const REMOVED = {
  status: 404,
  code: 'event_definition_unknown',
  message: 'Somebody removed this definition meanwhile.',
  problems: [],
};

/** A definition as it is now. Who changed it is said of its site alone. */
export async function readDefinition(siteId: string, id: string): Promise<Answer<VersionedDefinition>> {
  const site = await request<SiteItem>('GET', sitePath(siteId));
  if (!site.ok) return site;
  const { event_definitions, version, changed_at, changed_by } = site.value;
  const definition = event_definitions.find((one) => one.id === id);
  if (definition === undefined) return { ok: false, failure: REMOVED };
  return { ok: true, value: { definition, version, changed_at, changed_by }, version };
}

/** Adds a definition, or replaces one that is still as it was read. */
export async function writeDefinition(
  siteId: string,
  draft: DefinitionDraft,
  { definition, ...base }: VersionedDefinition,
): Promise<Answer<VersionedDefinition>> {
  const problems = draftProblems(draft, isSelector);
  if (problems.length > 0) return notSent(problems);
  const body = definitionBody(draft);
  const saved = await (definition === null
    ? request<EventDefinition>('POST', pathOf(siteId), { body })
    : request<EventDefinition>('PUT', pathOf(siteId, definition.id), { body, ...stillAt(base) }));
  if (!saved.ok) return saved;
  const version = saved.version ?? '';
  return { ...saved, value: { ...base, definition: saved.value, version } };
}

/** Removes a definition whose site is still as it was read. */
export const removeDefinition = (siteId: string, id: string, base: Meta): Promise<Answer<EventDefinition>> =>
  request('DELETE', pathOf(siteId, id), stillAt(base));

const stillAt = ({ version }: Pick<Meta, 'version'>): { version?: string } => (version === '' ? {} : { version });

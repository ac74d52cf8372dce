import { type SettingsView, versionOf } from '#pipelines/settings/journal.ts';
import type { Setting } from '#schemas/setting.ts';
import type { Meta } from '#services/control_api/fields.ts';
import { type Refused, refused, type Shown } from './route.ts';

/** The version of a fact, and who wrote it when. @throws when there is no such fact. */
export function metaOf(view: SettingsView, key: string): Meta {
  const record = recordOf(view, key);
  return { version: versionOf(record), changed_at: record.changed_at, changed_by: record.changed_by };
}

/** A body with its meta data, and the version for the ETag. */
export function shownWith<Body extends object>(view: SettingsView, key: string, body: Body): Shown {
  const meta = metaOf(view, key);
  return { body: { ...body, ...meta }, version: meta.version };
}

/**
 * Refuses a change of a fact that is not what its reader saw (412). Where If-Match must be sent and was not, that is
 * refused too (428): a change made blindly would undo another's.
 */
export function refuseStale(
  view: SettingsView,
  key: string,
  ifMatch: string | null,
  need: 'required' | 'optional',
): Refused | null {
  if (ifMatch === null) return need === 'required' ? refused('if_match_missing') : null;
  if (ifMatch.trim() === '*') return null;
  const version = versionOf(recordOf(view, key));
  const matches = ifMatch.split(',').some((tag) => tag.trim() === `"${version}"`);
  return matches ? null : refused('version_conflict');
}

function recordOf(view: SettingsView, key: string): Setting {
  const record = view.record(key);
  if (record === undefined) throw new Error(`no record under ${key}`);
  return record;
}

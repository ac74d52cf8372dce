import { parseEventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { mergeNotes, newNotes, noteEvent, type TagNotes } from '#pipelines/tag_health/notes.ts';
import { signsOf } from '#pipelines/tag_health/signs.ts';
import type { Event } from '#schemas/event.ts';
import { createSiteNotes } from '#services/edge/site_notes.ts';

export interface TagHealthOptions {
  table: SettingsTable;
  /** Passes notes of a site on; where it throws they are passed on with the next. */
  note(siteId: string, notes: TagNotes): Promise<void>;
  nowMs(): number;
}

/** Counts what comes from browsers, so that a tag that has stopped working is seen. */
export interface TagHealth {
  /** Events of one request, which were accepted; those that servers sent say nothing of a tag. */
  saw(siteId: string, events: readonly Event[]): void;
  /** Passes on what is left. */
  stop(): Promise<void>;
}

/** Gathers in memory what each site's browsers sent, and passes it on every 2 s. */
export function createTagHealth({ table, note, nowMs }: TagHealthOptions): TagHealth {
  const waiting = createSiteNotes({ begin: newNotes, note, merge: mergeNotes });
  const definitionsOf = knownDefinitions(table);
  return {
    saw(siteId, events) {
      if (events[0]?.caller !== 'browser') return;
      const notes = waiting.of(siteId);
      const atMs = nowMs();
      const definitions = definitionsOf(siteId);
      for (const { event, properties } of events) {
        const signs = signsOf(event, properties);
        // Anybody can name a definition that does not exist.
        if (signs.definition !== null && !definitions.has(signs.definition)) signs.definition = null;
        noteEvent(notes, signs, atMs);
      }
    },
    stop: waiting.stop,
  };
}

/** The ids of a site's event definitions, read once for each state of the settings. */
function knownDefinitions(table: SettingsTable): (siteId: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>();
  let version = table.version;
  return (siteId) => {
    if (version !== table.version) known.clear();
    version = table.version;
    const ids = known.get(siteId) ?? new Set((table.site(siteId)?.event_definitions ?? []).flatMap(idOf));
    known.set(siteId, ids);
    return ids;
  };
}

function idOf(text: string): string[] {
  const read = parseEventDefinition(text);
  return read.ok ? [read.definition.id] : [];
}

import { parseEventDefinition } from '#pipelines/settings/event_definitions.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { mergeNotes, newNotes, noteEvent, type TagNotes } from '#pipelines/tag_health/notes.ts';
import { signsOf } from '#pipelines/tag_health/signs.ts';
import type { Event } from '#schemas/event.ts';

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

const FLUSH_MS = 2_000;

/** Gathers in memory what each site's browsers sent, and passes it on every 2 s: no request waits for it. */
export function createTagHealth({ table, note, nowMs }: TagHealthOptions): TagHealth {
  let waiting = new Map<string, TagNotes>();
  const definitionsOf = knownDefinitions(table);

  function notesOf(siteId: string): TagNotes {
    const known = waiting.get(siteId);
    if (known !== undefined) return known;
    const notes = newNotes();
    waiting.set(siteId, notes);
    return notes;
  }

  async function pass(siteId: string, notes: TagNotes): Promise<void> {
    try {
      await note(siteId, notes);
    } catch {
      // The store says itself that it is away.
      mergeNotes(notesOf(siteId), notes);
    }
  }

  async function flush(): Promise<void> {
    const gathered = waiting;
    waiting = new Map();
    await Promise.all([...gathered].map(([siteId, notes]) => pass(siteId, notes)));
  }

  const timer = setInterval(() => void flush(), FLUSH_MS);
  timer.unref();
  return {
    saw(siteId, events) {
      if (events[0]?.caller !== 'browser') return;
      const notes = notesOf(siteId);
      const atMs = nowMs();
      const definitions = definitionsOf(siteId);
      for (const { event, properties } of events) {
        const signs = signsOf(event, properties);
        // Anybody can name a definition that does not exist.
        if (signs.definition !== null && !definitions.has(signs.definition)) signs.definition = null;
        noteEvent(notes, signs, atMs);
      }
    },
    async stop() {
      clearInterval(timer);
      await flush();
    },
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

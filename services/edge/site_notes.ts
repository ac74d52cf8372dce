export interface SiteNotesOptions<Notes> {
  begin(): Notes;
  /** Passes notes of a site on; where it throws they are passed on with the next. */
  note(siteId: string, notes: Notes): Promise<void>;
  /** Takes back into `notes` what could not be passed on before. */
  merge(notes: Notes, earlier: Notes): void;
}

/** What is noted of sites in memory, and passed on every 2 s: no request waits for it. */
export interface SiteNotes<Notes> {
  /** The notes of a site, to be added to. */
  of(siteId: string): Notes;
  /** Passes on what is left. */
  stop(): Promise<void>;
}

const FLUSH_MS = 2_000;

export function createSiteNotes<Notes>({ begin, note, merge }: SiteNotesOptions<Notes>): SiteNotes<Notes> {
  let waiting = new Map<string, Notes>();

  function notesOf(siteId: string): Notes {
    const known = waiting.get(siteId);
    if (known !== undefined) return known;
    const notes = begin();
    waiting.set(siteId, notes);
    return notes;
  }

  async function pass(siteId: string, notes: Notes): Promise<void> {
    try {
      await note(siteId, notes);
    } catch {
      // The store says itself that it is away.
      merge(notesOf(siteId), notes);
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
    of: notesOf,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

import type { ErasureRequest } from '#infra/persons/erasure_topic.ts';
import type { EventsPage, FoundLink, FoundRows } from '#infra/persons/person_data.ts';
import { newErasure, newSiteErasure } from '#pipelines/erasure/erasure.ts';
import { readSubject } from '#pipelines/erasure/subject.ts';
import type { Erasure } from '#schemas/records.ts';
import type { ControlOptions } from '#services/control/request_handler.ts';

const SECRET = Buffer.alloc(32, 9);

export type MemoryPersons = ReturnType<typeof memoryPersons>;

/** Persons of whom is known what a test says, in memory. */
export function memoryPersons(nowMs: () => number) {
  const erasures = new Map<string, Erasure>();
  const asked: ErasureRequest[] = [];
  /** Persons who were erased of late. */
  const gone = new Set<string>();
  const known = {
    tables: [{ table: 'event_rows', rows: 3 }] as FoundRows[],
    distinctIds: ['ann'],
    links: [] as FoundLink[],
    page: { events: [{ event_id: 'one' }], next: null } as EventsPage,
  };
  const ports: Pick<
    ControlOptions,
    'readSubject' | 'persons' | 'erasures' | 'eraseRequests' | 'isErasedPerson' | 'isErasedSite'
  > = {
    readSubject: (typed, site) => readSubject(typed, site, [SECRET]),
    persons: {
      resolve: async (_siteId, subject) => subject,
      countRows: async () => ({ tables: known.tables, distinctIds: known.distinctIds }),
      events: async () => known.page,
      links: async () => known.links,
      linksOfSite: async () => known.links,
    },
    isErasedPerson: (_siteId, personId) => gone.has(personId),
    isErasedSite: (siteId) => [...erasures.values()].some((one) => one.site_id === siteId && one.site?.is_suppressed),
    erasures,
    eraseRequests: {
      read: async (erasureId) => erasures.get(erasureId),
      async request(request) {
        asked.push(request);
        const { erasureId: erasure_id, siteId: site_id, askedBy: asked_by, destinations, subject } = request;
        const made = { erasure_id, site_id, asked_by, destinations, sealed: 'sealed' };
        const erasure = newErasure(made, SECRET, subject, nowMs());
        erasures.set(erasure_id, erasure);
        return erasure;
      },
      async requestSite({ erasureId, siteId, accountId, askedBy, destinations }) {
        const asked = {
          erasure_id: erasureId,
          site_id: siteId,
          account_id: accountId,
          asked_by: askedBy,
          destinations,
        };
        const erasure = newSiteErasure(asked, nowMs());
        erasures.set(erasureId, erasure);
        return erasure;
      },
    },
  };
  return { ports, known, asked, gone, erasures };
}

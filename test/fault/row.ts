import type { Random } from '#services/local/demo/world/random.ts';
import type { Ledger } from './load/load_ledger.ts';
import type { World } from './world/fault_world.ts';
import type { PlaceKind } from './world/layout.ts';
import type { FaultSite } from './world/site.ts';

/** What a row may use to break things. */
export interface RowContext {
  world: World;
  site: FaultSite;
  ledger: Ledger;
  /** Everything drawn in the row comes from here, so that the seed repeats it. */
  random: Random;
  /** New events that the row is to send at the least. */
  events: number;
  /** How long events are to wait, where the row lets them. */
  minutes: number;
  /** What a row planted that must end in a dead-letter topic, and how often: a record is read by several stages. */
  planted: PlantedRecord[];
  /** Events that are well until identity, which reads further than dedup, puts them aside. */
  broken: Set<string>;
  /** Resolves when so many events have been sent. */
  untilSent(events: number): Promise<void>;
  say(line: string): void;
}

/** A record that nobody can read, and the stages that must put it aside. */
export interface PlantedRecord {
  topic: string;
  partition: number;
  offset: number;
  stages: readonly string[];
}

/** A fault, named; the load runs until `fault` is over, then everything is held to account. */
export interface Row {
  name: string;
  /** The world it needs, where that is not the common one. */
  place?: PlaceKind;
  /** Of what it breaks there must be one: it is left out where that is a cluster. */
  single?: 'redis' | 'clickhouse';
  /** Stands on one process a stage: those beside it rest meanwhile. */
  oneProcess?: true;
  /** Part of the smoke subset. */
  smoke?: true;
  /** New events; the run's own number where absent. */
  events?: number;
  /** Of the load at the least, where the fault sends its own `events` beside it. */
  loadEvents?: number;
  requestsPerSecond?: number;
  /** A destination may get an event again, under the same key: only where a delivery process or the broker is disturbed. */
  resends?: true;
  /** Prepares what nothing is held to account for. */
  before?(context: RowContext): Promise<void>;
  fault(context: RowContext): Promise<void>;
  /** Puts back what the account was to find as the fault left it. */
  after?(context: RowContext): Promise<void>;
}

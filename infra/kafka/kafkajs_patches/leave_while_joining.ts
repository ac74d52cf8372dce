import { createRequire } from 'node:module';

interface Connection {
  send(protocol: unknown): Promise<unknown>;
  rejectRequests(error: Error): void;
}

interface ConnectionPool {
  pool: Connection[];
  getConnection(index: number): Promise<Connection>;
  send(this: ConnectionPool, protocol: unknown): Promise<unknown>;
}

/** What the client keeps for a group it is a member of, as far as it is touched here. */
export interface JoiningGroup {
  groupId: string;
  memberId: string | null;
  coordinator: {
    connectionPool: ConnectionPool;
    lookupRequest(apiKey: number, definition: unknown): (of: { groupId: string; memberId: string }) => unknown;
  } | null;
}

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/connectionPool.js') as { prototype: ConnectionPool };
const { LeaveGroup: LEAVE_GROUP } = require('kafkajs/src/protocol/requests/apiKeys.js') as { LeaveGroup: number };
const { requests } = require('kafkajs/src/protocol/requests/index.js') as { requests: { LeaveGroup: unknown } };

/** The client has a broker's answers to fetches on a connection of their own; the other is taken by the joining. */
const FETCHING = 1;
const JOINING = 0;

/** Ids that brokers have given to those who join, which the client keeps to itself until they have joined. */
const given = new WeakMap<ConnectionPool, string>();
let patched = false;

/** Remembers the ids that brokers give to members. */
export function rememberMemberIds(): void {
  if (patched) return;
  patched = true;
  const { send } = prototype;
  prototype.send = async function (protocol) {
    try {
      return await send.call(this, protocol);
    } catch (error) {
      const { name, memberId } = error as { name?: unknown; memberId?: unknown };
      if (name === 'KafkaJSMemberIdRequired' && typeof memberId === 'string') given.set(this, memberId);
      throw error;
    }
  };
}

/**
 * Ends a joining that waits for other members, who may take until the end of the rebalance: leaves the group, which answers
 * the joining and spares the others from waiting for this member. Where the group cannot be told, the joining ends all the
 * same, and the group notices by the session.
 */
export async function leaveWhileJoining({ groupId, memberId: known, coordinator }: JoiningGroup): Promise<void> {
  if (coordinator === null) return;
  const { connectionPool } = coordinator;
  const memberId = known ?? given.get(connectionPool);
  try {
    if (memberId === undefined) throw new Error('the member has no id yet');
    const connection = await connectionPool.getConnection(FETCHING);
    await connection.send(coordinator.lookupRequest(LEAVE_GROUP, requests.LeaveGroup)({ groupId, memberId }));
  } catch (error) {
    connectionPool.pool[JOINING]?.rejectRequests(error as Error);
  }
}

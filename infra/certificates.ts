// The certificate that a server shows, for `svc doctor`.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { connect } from 'node:tls';

export interface CertificateFacts {
  /** Milliseconds since 1970 UTC. */
  validToMs: number;
  /** Why it is not trusted, as Node names it; null: it is. */
  untrusted: string | null;
}

const TIMEOUT_MS = 5_000;

/** @param ca Its authority, in PEM; null: those of the system. @throws where nobody answers with TLS. */
export function readCertificate(host: string, port: number, ca: string | null): Promise<CertificateFacts> {
  return new Promise((resolve, reject) => {
    const more = { ...(ca !== null && { ca }), ...(isIP(host) === 0 && { servername: host }) };
    // What is not trusted is told, and nothing is sent.
    const socket = connect({ host, port, rejectUnauthorized: false, ...more }, () => {
      const { valid_to: validTo } = socket.getPeerCertificate();
      // An Error, though its type says otherwise.
      const reason = socket.authorizationError as unknown as { code?: string } | string | null | undefined;
      const untrusted = socket.authorized ? null : typeof reason === 'string' ? reason : (reason?.code ?? 'unknown');
      socket.destroy();
      resolve({ validToMs: Date.parse(validTo), untrusted });
    });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
  });
}

/** When the first of the certificates in a file ends, in milliseconds since 1970 UTC. @throws where it holds none */
export function firstEndMs(path: string): number {
  const all = readFileSync(path, 'utf8').match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (all.length === 0) throw new Error('the file holds no certificate');
  return Math.min(...all.map((pem) => Date.parse(new X509Certificate(pem).validTo)));
}

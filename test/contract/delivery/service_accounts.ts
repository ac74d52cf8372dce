import { generateKeyPairSync } from 'node:crypto';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const EMAIL = 'sender@project.iam.gserviceaccount.com';

const keyFile = (email: string): string =>
  JSON.stringify({
    type: 'service_account',
    client_email: email,
    private_key_id: 'key-1',
    private_key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
  });

/** A service account made for this run: its key file, and what the token service knows of it. */
export const SERVICE_ACCOUNT = {
  email: EMAIL,
  keyFile: keyFile(EMAIL),
  /** The key file of an account that the token service does not know. */
  strangerKeyFile: keyFile('stranger@project.iam.gserviceaccount.com'),
  publicKeys: { [EMAIL]: String(pair.publicKey.export({ type: 'spki', format: 'pem' })) },
};

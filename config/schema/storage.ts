import { setting } from '../setting.js'
import { Count, HttpUrl, Path, Text } from './shape.js'

/** What is kept, and where. */
export const STORAGE_SETTINGS = {
  run_db: setting({
    env: 'SVC_RUN_DB',
    type: Path,
    default: '',
    about: 'SQLite file for runs, events, messages and API keys; empty = in memory only, and no keys.',
    reload: 'restart',
    isPath: true,
  }),
  conversation_db: setting({
    env: 'SVC_CONVERSATION_DB',
    type: Path,
    default: '',
    about: 'SQLite file for conversations; empty = disabled.',
    reload: 'restart',
    isPath: true,
  }),
  conversation_retention_days: setting({
    env: 'SVC_CONVERSATION_RETENTION_DAYS',
    type: Count,
    default: 30,
    about: 'Days a conversation is kept; needs `SVC_CONVERSATION_DB`; 0 = for ever.',
    reload: 'hot',
  }),
  relay_db: setting({
    env: 'SVC_RELAY_DB',
    type: Path,
    default: '',
    about: 'SQLite file for relay workers; empty = relay routes answer 501.',
    reload: 'restart',
    isPath: true,
  }),
  'provider_keys.secret': setting({
    env: 'SVC_PROVIDER_KEYS_SECRET',
    type: Text,
    default: '',
    about: 'Keys given over the API are kept, encrypted with this; empty = in memory only.',
    reload: 'hot',
    secret: true,
  }),
  'backup.endpoint': setting({
    env: 'SVC_BACKUP_ENDPOINT',
    type: HttpUrl,
    default: '',
    about: 'Object store for event backups; empty = by region.',
    reload: 'hot',
  }),
  'backup.region': setting({
    env: 'SVC_BACKUP_REGION',
    type: Text,
    default: '',
    about: 'Region of the bucket.',
    reload: 'hot',
  }),
  'backup.bucket': setting({
    env: 'SVC_BACKUP_BUCKET',
    type: Text,
    default: '',
    about: 'Bucket the events of ended runs are uploaded to; empty = no backup.',
    reload: 'hot',
  }),
  'backup.key_prefix': setting({
    env: 'SVC_BACKUP_KEY_PREFIX',
    type: Text,
    default: '',
    about: 'Put before every object name.',
    reload: 'hot',
  }),
  'backup.access_key': setting({
    env: 'SVC_BACKUP_ACCESS_KEY',
    type: Text,
    default: '',
    about: 'Access key of the object store.',
    reload: 'hot',
    secret: true,
  }),
  'backup.secret_key': setting({
    env: 'SVC_BACKUP_SECRET_KEY',
    type: Text,
    default: '',
    about: 'Secret key of the object store.',
    reload: 'hot',
    secret: true,
  }),
} as const

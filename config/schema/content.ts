import { join } from 'node:path'
import { setting } from '../setting.js'
import { Flag, HttpUrl, Name, Path, Text, Texts } from './shape.js'

/** Content an operator puts beside the daemon: hooks, skills, profiles, recipes, workflows, networks. */
export const CONTENT_SETTINGS = {
  'hooks.enabled': setting({
    env: 'SVC_HOOKS_ENABLED',
    type: Flag,
    default: true,
    about: 'Lifecycle hooks.',
    reload: 'hot',
  }),
  'hooks.dirs': setting({
    env: 'SVC_HOOKS_DIRS',
    type: Texts,
    default: [],
    about: 'Directories of lifecycle hooks.',
    reload: 'hot',
    isPath: true,
  }),
  skills_enabled: setting({
    env: 'SVC_SKILLS_ENABLED',
    type: Flag,
    default: true,
    about: 'Skills system.',
    reload: 'hot',
  }),
  skills_dir: setting({
    env: 'SVC_SKILLS_DIR',
    type: Path,
    default: '',
    about: 'Directory of skills.',
    reload: 'hot',
    place: { text: '<global>/skills', of: ({ global }) => join(global, 'skills') },
  }),
  profiles_dir: setting({
    env: 'SVC_PROFILES_DIR',
    type: Path,
    default: '',
    about: 'Directory of capability profiles.',
    reload: 'hot',
    place: { text: '<global>/profiles', of: ({ global }) => join(global, 'profiles') },
  }),
  recipes_dir: setting({
    env: 'SVC_RECIPES_DIR',
    type: Path,
    default: '',
    about: 'Directory of recipes.',
    reload: 'hot',
    isPath: true,
  }),
  workflows_dir: setting({
    env: 'SVC_WORKFLOWS_DIR',
    type: Path,
    default: '',
    about: 'Directory of script workflows.',
    reload: 'hot',
    isPath: true,
  }),
  networks_dir: setting({
    env: 'SVC_NETWORKS_DIR',
    type: Path,
    default: '',
    about: 'Directory of agent networks; activates the network routes.',
    reload: 'hot',
    isPath: true,
  }),
  subagent_base_ref: setting({
    env: 'SVC_SUBAGENT_BASE_REF',
    type: Name,
    default: 'HEAD',
    about: 'Commit a sub-agent’s worktree starts from.',
    reload: 'hot',
  }),
  subagent_worktree_root: setting({
    env: 'SVC_SUBAGENT_WORKTREE_ROOT',
    type: Path,
    default: '',
    about: 'Where worktrees of sub-agents go; empty = `<repository>-subagents` beside the repository.',
    reload: 'hot',
    isPath: true,
  }),
  'tools.network_allowlist': setting({
    env: 'SVC_TOOLS_NETWORK_ALLOWLIST',
    type: Texts,
    default: [],
    about:
      'Hosts, addresses and CIDR ranges outside of the public internet that web tools may reach, optionally `:port`.',
    reload: 'hot',
  }),
  sourcegraph_endpoint: setting({
    env: 'SVC_SOURCEGRAPH_ENDPOINT',
    type: HttpUrl,
    default: '',
    about: 'Code-search backend.',
    reload: 'hot',
  }),
  sourcegraph_token: setting({
    env: 'SVC_SOURCEGRAPH_TOKEN',
    type: Text,
    default: '',
    about: 'Token of the code-search backend.',
    reload: 'hot',
    secret: true,
  }),
} as const

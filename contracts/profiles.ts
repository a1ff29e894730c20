/** Names of the capability profiles that every deployment has, whether or not a plugin gives effect to them. */
export const BUILT_IN_PROFILES = ['full', 'researcher', 'reviewer', 'file-writer', 'bash-runner', 'github'] as const

/** The capability profiles of a deployment. */
export interface Profiles {
  /** True for the name of one the tenant may use, of any tier. */
  has(tenantId: string, name: string): Promise<boolean>
}

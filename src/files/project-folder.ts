/** The folder of this package's files, relative to the project's root. */
export const PROJECT_FOLDER = "vault-deployments";

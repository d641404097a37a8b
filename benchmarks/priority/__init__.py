"""Direct evaluation of optimizer models: do they rank what helps and what harms as the planted truth does?"""
